"""What is told of an error: the reader's lines, all that belongs to it, and none of ours."""

from notebook_ranks.cells import chain

TASKS = """import asyncio
async def fail(n):
    raise ValueError(f"no {n}")
async def main():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fail(1))
        tasks.create_task(fail(2))
await main()
"""


def test_each_error_of_a_group_is_told_with_its_line(failing):
    error = failing(TASKS, 1)
    assert "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)" in error
    for n in (1, 2):
        assert f"  {n} of 2: ValueError: no {n}\n    line 3, in fail: raise ValueError" in error
    inner = ExceptionGroup("inner", [KeyError("k")])
    inner.exceptions[0].__cause__ = OSError("the disk")
    assert chain.lines(ExceptionGroup("outer", [inner])) == [
        "  1 of 1: ExceptionGroup: inner (1 sub-exception)",
        "  1 of 1: KeyError: 'k'", "  caused by OSError: the disk",
    ]  # fmt: skip


def test_a_traceback_that_is_printed_shows_the_readers_lines_and_torchs_alone(capsys, failing):
    wait = "import traceback\ntry:\n    dist.barrier()\nexcept RuntimeError:\n"
    failing(f"if rank:\n    1 / 0\n{wait}    traceback.print_exc()", 2)
    said = capsys.readouterr().err
    assert "distributed_c10d.py" in said and "<ranks cell" in said and "RuntimeError: " in said
    assert "notebook_ranks" not in said and "real(" not in said
