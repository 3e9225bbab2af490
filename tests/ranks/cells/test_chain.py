"""What is told of an error: the reader's lines, all that belongs to it, and none of ours."""

import sys

import pytest

from course_utils import ranks
from course_utils.ranks.cells import chain

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended_at_last"),
]
TASKS = """import asyncio
async def fail(n):
    raise ValueError(f"no {n}")
async def main():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fail(1))
        tasks.create_task(fail(2))
await main()
"""


def test_each_error_of_a_group_is_told_with_its_line():
    with pytest.raises(ranks.RankError) as error:
        ranks.run_cell(TASKS, 1)
    said = str(error.value)
    assert "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)" in said
    for n in (1, 2):
        assert f"  {n} of 2: ValueError: no {n}\n    line 3, in fail: raise ValueError" in said


def test_groups_in_groups_and_what_their_errors_came_from_are_told_too():
    inner = ExceptionGroup("inner", [KeyError("k")])
    inner.exceptions[0].__cause__ = OSError("the disk")
    assert chain.lines(ExceptionGroup("outer", [inner])) == [
        "  1 of 1: ExceptionGroup: inner (1 sub-exception)",
        "  1 of 1: KeyError: 'k'", "  caused by OSError: the disk",
    ]  # fmt: skip


PRINTED = {
    "by the program": "import traceback\ntry:\n    {wait}\nexcept RuntimeError:\n"
    "    traceback.print_exc()",
    "of a thread": "import threading\nhelper = threading.Thread(target=lambda: {wait})\n"
    "helper.start()\nhelper.join()",
}


@pytest.mark.parametrize("how", PRINTED)
def test_a_traceback_that_is_printed_shows_the_readers_lines_and_torchs_alone(how, capsys):
    ranks.start(2)
    with pytest.raises(ranks.RankError):
        ranks.run_cell("if rank:\n    1 / 0\n" + PRINTED[how].format(wait="dist.barrier()"))
    said = capsys.readouterr().err
    assert "distributed_c10d.py" in said and "<ranks cell" in said and "RuntimeError: " in said
    assert "course_utils" not in said and "real(" not in said
