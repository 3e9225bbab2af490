"""The style of the code on the pages: which notebooks keep it, and what the tool sees in a cell."""

import json

import nbformat
import pytest

from tools import notebook_style as style


@pytest.fixture
def page(tmp_path):
    """Writes a notebook of these code cells, as a page is stored; gives its path."""

    def written(*sources):
        cells = [nbformat.v4.new_code_cell(source, id=f"c{i}") for i, source in enumerate(sources)]
        path = tmp_path / "03_new.ipynb"
        stored = nbformat.v4.new_notebook(cells=cells)
        path.write_text(nbformat.writes(stored) + "\n", encoding="utf-8")
        return path

    return written


def code(path):
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


@pytest.mark.parametrize(
    "path", style.notebooks(), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_notebook_keeps_the_rules(path):
    said = style.problems(path)
    assert not said, said


@pytest.mark.parametrize("magic", ["", "%%ranks 4 --fails\n"])
@pytest.mark.parametrize(
    "source, said",
    [
        (f'print("{"a word " * 12}")', "Line too long (93 > 88)"),
        ("a = 1; print(a)", "multiple-statements-on-one-line-semicolon"),
        ("if rank: print(rank)", "multiple-statements-on-one-line-colon"),
        ("import os, sys\n\nprint(os, sys)", "multiple-imports-on-one-line"),
        ("print(nobody)", "Undefined name `nobody`"),
        ("x = [1,2]", "+x = [1, 2]"),
        ("def f(:", "invalid-syntax"),
        ("print(1), print(2)", "several statements on one line"),
        ("[print(x) for x in (1, 2)]", "several statements on one line"),
    ],
)
def test_a_cell_for_ranks_is_held_to_the_rules_like_any_other(page, magic, source, said):
    found = style.problems(page("1 + 1", magic + source))
    assert said in found and "cell 2" in found and "%%debug" not in found


def test_what_is_pushed_to_the_ranks_is_known_there(page):
    pushed = "from course_utils import ranks\n\nranks.push(orders=[1])"
    ranks = "%%ranks 4\nprint(orders, rank, others)"
    assert "Undefined name `others`" in style.problems(page(pushed, ranks))
    assert "Undefined name `orders`" not in style.problems(page(pushed, ranks))
    assert "Undefined name `orders`" in style.problems(page(ranks))


def test_a_page_wraps_its_calls_by_hand_and_keeps_its_spaces(page, monkeypatch):
    by_hand = page("dict(a=1,\n     b=2)", "[1,2]\nx  = 1")
    said = style.problems(by_hand)
    assert "+dict(a=1, b=2)" in said
    monkeypatch.setattr(style, "NOTEBOOKS", by_hand.parent)
    said = style.problems(by_hand)
    assert (
        "cell 2:1:3: missing-whitespace" in said
        and "cell 2:2:2: multiple-spaces" in said
        and "dict" not in said
    )
    before = by_hand.read_bytes()
    style.format_cells(by_hand)
    assert by_hand.read_bytes() == before


def test_a_place_is_counted_from_the_line_of_the_magic(page):
    assert ":cell 1:3:" in style.problems(page("%%ranks 2\na = 1\nb = nobody"))


@pytest.mark.parametrize(
    "cells",
    [
        ("%%ranks 2\nmine = [rank, world_size, local_rank, device]", "lambda: mine"),
        ("import os", "%%ranks 2\nos.getpid()"),
        ("def who():\n    return rank, dist.get_world_size()",),
        ("%load_ext course_utils\n!nvidia-smi", "1 + 1"),
        ("from course_utils import hint, solution",),
        ("from course_utils import check\nfrom course_utils import claim", "check, claim"),
        ("%%bash\nfree;df",),
    ],
    ids=["of a rank", "used by ranks", "on ranks", "magics", "the reader's", "two lines", "bash"],
)
def test_what_a_page_may_do(page, cells):
    assert style.problems(page(*cells)) == ""


def test_formatting_changes_the_code_and_nothing_else(page):
    path = page("import os\nos.name  # é ≈, %%debug", "%%ranks 4 --only 0,2\nx=[1,2]", "1 + 1")
    before = path.read_text(encoding="utf-8")
    style.format_cells(path)
    assert code(path) == [
        "import os\n\nos.name  # é ≈, %%debug",
        "%%ranks 4 --only 0,2\nx = [1, 2]",
        "1 + 1",
    ]
    after = path.read_text(encoding="utf-8")
    assert after.replace("x = [1, 2]", "x=[1,2]").replace('    "\\n",\n', "") == before


def test_what_cannot_be_formatted_stays_and_is_said(page, capsys, monkeypatch):
    path = page("def f(:", "x=1")
    monkeypatch.setattr(style, "notebooks", lambda name="": [path])
    before = path.read_bytes()
    assert style.main(["--format"]) == 1 and path.read_bytes() == before
    assert "invalid-syntax" in capsys.readouterr().out


def test_a_chapter_is_named_by_its_number_and_comes_with_its_solutions():
    found = [path.relative_to(style.NOTEBOOKS).as_posix() for path in style.notebooks("06")]
    assert found == ["06_floating_point_formats.ipynb", "solutions/06_floating_point_formats.ipynb"]


def test_an_unknown_chapter_is_a_sentence(capsys):
    assert style.main(["77"]) == 2
    assert capsys.readouterr().out == "No notebook's name begins with 77.\n"
