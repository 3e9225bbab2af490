"""While a cell runs, a small area shows what each rank is at; nothing is left of it."""

import re

from course_utils.ranks.page import live, printer
from tests.ranks.test_session import kernel, pytestmark  # noqa: F401

SLOW = (
    "import sys, time\nfor i in range(9):\n    print('step', i)\n"
    "    print(f'\\r{i}/8', end='', file=sys.stderr, flush=True)\n    time.sleep(0.25)"
)


def stored(kernel, code):  # noqa: F811
    """What the page keeps of a cell, text by stream, and each state of the live area."""
    kept, area = {"stdout": "", "stderr": ""}, []
    for kind, content in kernel.heard(code):
        if kind == "clear_output":
            kept = dict.fromkeys(kept, "")
        elif kind == "stream":
            kept[content["name"]] += content["text"]
        elif kind in ("display_data", "update_display_data"):
            area.append(content["data"]["text/plain"])
    return kept, area


def test_all_ranks_are_seen_live_and_what_is_stored_is_the_same(kernel):  # noqa: F811
    kernel.cell("rank", "2")
    kept, area = stored(kernel, f"%%ranks\n{SLOW}")
    kernel.run("import os\nos.environ['COURSE_RANKS_UNATTENDED'] = '1'")
    try:
        unattended = stored(kernel, f"%%ranks\n{SLOW}")
    finally:
        kernel.run("del os.environ['COURSE_RANKS_UNATTENDED']")
    assert unattended == (kept, [])
    assert kept["stderr"] == "[rank 0] 8/8\n[rank 1] 8/8\n"
    assert kept["stdout"] == "".join(f"[rank {r}] step {i}\n" for r in (0, 1) for i in range(9))
    both = r"\[rank 0\] \d/8\n\[rank 1\] step \d\n\[rank 1\] \d/8"
    assert any(re.fullmatch(both, text) for text in area)


def test_a_cell_that_began_with_something_else_has_no_area(kernel):  # noqa: F811
    kernel.run("ranks.start(2)")
    kernel.run(f"def slow():\n    {SLOW.replace(chr(10), chr(10) + '    ')}")
    kept, area = stored(kernel, "print('mine')\nranks.run(slow)\nNone")
    assert area == [] and kept["stdout"].startswith("mine\n[rank 0] step 0")


def test_an_area_has_two_lines_a_rank_at_most(monkeypatch):
    drawn = []
    monkeypatch.setattr(live.Area, "draw", lambda _self, text, _seconds: drawn.append(text))
    for n in (3, 12, 64):
        found = printer.Printer(range(n))
        found._area.allowed = True
        for rank in range(1, n):
            found.add(rank, "stdout", "first\nsecond\nthird\n")
            found.add(rank, "stderr", "10%\r20%\r")
        found.refresh(0.5)
        found.refresh(2.0)
    assert drawn[0] == "\n".join(f"[rank {r}] {text}" for r in (1, 2) for text in ("third", "20%"))
    assert len(drawn) == 3 and [text.count("\n") + 1 for text in drawn] == [4, 11, 31]


def test_a_line_is_shown_as_it_was_written_over_last():
    assert live.as_it_stands("1%\r50%\r99%") == "99%"
    assert live.as_it_stands("1%\r50%\r") == "50%"
    assert live.last_lines("a\n\nb\nc\rd\n") == ["b", "d"]
    assert live.last_lines("x" * 500) == ["x" * live.WIDTH]
