"""While a cell runs, a small area shows what each rank is at; nothing is left of it."""

import re

from notebook_ranks.page import printer

BOTH = r"\[rank 0\] \d+%\n\[rank 1\] step \d+\n\[rank 1\] \d+%"  # ranks in the area


def slow(flag):
    """A cell that goes on until the file is there, a minute at most."""
    return f"""import os, sys, time
for i in range(600):
    if os.path.exists('{flag}'):
        break
    print('step', i)
    print(f'\\r{{i}}%', end='', file=sys.stderr, flush=True)
    time.sleep(0.1)
print('end')"""


def stored(kernel, code, flag):
    """What the page keeps of a cell, text by stream, and each state of the live area.

    The file is made as soon as both ranks are in the area.
    """
    kept, area = {"stdout": "", "stderr": ""}, []
    for kind, content in kernel.heard(code):
        if kind == "clear_output":
            kept = dict.fromkeys(kept, "")
        elif kind == "stream":
            kept[content["name"]] += content["text"]
        elif kind in ("display_data", "update_display_data"):
            area.append(content["data"]["text/plain"])
            if re.fullmatch(BOTH, area[-1]):
                flag.touch()
    return kept, area


def test_all_ranks_are_seen_live_and_what_is_stored_is_the_text_alone(kernel, tmp_path):
    kernel.cell("rank", "2")
    flag = tmp_path / "seen"
    kept, _ = stored(kernel, f"%%ranks\n{slow(flag)}", flag)
    assert flag.exists()
    said = re.fullmatch(r"\[rank 0\] (\d+)%\n\[rank 1\] (\d+)%\n", kept["stderr"])
    assert kept["stdout"] == "".join(
        "".join(f"[rank {r}] step {i}\n" for i in range(int(last) + 1)) + f"[rank {r}] end\n"
        for r, last in enumerate(said.groups())
    )


def test_a_cell_that_began_with_something_else_has_no_area(kernel, tmp_path):
    kernel.run("ranks.start(2)\ndef slow():\n    import time\n    print('step', flush=True)\n"
               "    time.sleep(1.5)")  # fmt: skip
    kept, area = stored(kernel, "print('mine')\nranks.run(slow)\nNone", tmp_path / "seen")
    assert area == [] and kept["stdout"] == "mine\n[rank 0] step\n[rank 1] step\n"


def test_an_area_has_two_lines_a_rank_at_most_as_they_were_written_over_last(monkeypatch):
    drawn = []
    monkeypatch.setattr(printer.Area, "draw", lambda _self, text, _seconds: drawn.append(text))
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
    assert printer.last_lines("a\n\nb\nc\rd\n") == ["b", "d"]
    assert printer.last_lines("x" * 500) == ["x" * printer.WIDTH]
