"""The style of the code on the pages: what the tool sees in a cell, and what it formats.

(That the notebooks keep it is a step of `make test`.)
"""

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


@pytest.mark.parametrize(
    "magic, source, said",
    [
        ("", "a = 1; print(a)", "multiple-statements-on-one-line-semicolon"),
        ("", "x = [1,2]", "+x = [1, 2]"),
        ("%%ranks 4 --fails\n", f'print("{"a word " * 12}")', "cell 2:2:89: line-too-long"),
        ("%%ranks 4\n", "print(nobody, rank)", "Undefined name `nobody`"),
        ("%%ranks 4\n", "def f(:", "invalid-syntax"),
        ("%%ranks 4\n", "print(1), print(2)", "several statements on one line"),
    ],
)
def test_a_cell_for_ranks_is_held_to_the_rules_like_any_other(page, magic, source, said):
    found = style.problems(page("1 + 1", magic + source))
    assert said in found and "cell 2" in found and "%%debug" not in found


def test_what_a_page_may_do_is_not_wrong(page):
    pushed = "from course_utils import hint, ranks, solution\n\nranks.push(orders=[1])"
    on_ranks = "%%ranks 4\nmine = [orders, rank, world_size, dist.get_world_size()]"
    bash, magics = "%%bash\nfree;df", "%load_ext course_utils\n!nvidia-smi"
    assert style.problems(page(pushed, on_ranks, "lambda: mine", bash, magics)) == ""
    assert "Undefined name `orders`" in style.problems(page(on_ranks))


def test_formatting_changes_a_solutions_code_and_nothing_else(page, monkeypatch):
    path = page("import os\nos.name  # é ≈, %%debug", "%%ranks 4 --only 0,2\nx=[1,2]", "1 + 1")
    before = path.read_text(encoding="utf-8")
    style.format_cells(path)
    after = path.read_text(encoding="utf-8")
    assert after.replace("x = [1, 2]", "x=[1,2]").replace('    "\\n",\n', "") == before
    assert "".join(json.loads(after)["cells"][1]["source"]) == "%%ranks 4 --only 0,2\nx = [1, 2]"
    unreadable = page("def f(:", "x=1").read_bytes()
    style.format_cells(path)
    assert path.read_bytes() == unreadable
    by_hand = page("dict(a=1,\n     b=2)", "[1,2]").read_bytes()
    monkeypatch.setattr(style, "NOTEBOOKS", path.parent)  # so that it is a page
    style.format_cells(path)
    assert path.read_bytes() == by_hand
    assert "missing-whitespace" in style.problems(path) and "dict" not in style.problems(path)


def test_a_chapter_is_named_by_its_number_and_an_unknown_one_is_a_sentence(capsys):
    assert len(style.notebooks("06")) == 2 and style.main(["06"]) == 0
    assert style.main(["77"]) == 2
    assert capsys.readouterr().out.endswith("No notebook's name begins with 77.\n")
