"""`make handout`: nothing that can be read before a run tells a result, and all of it runs."""

import json
import re

import nbformat
import pytest

from course_utils.cli import handout, notebooks
from course_utils.core import files


@pytest.mark.parametrize("path", files.chapters(), ids=lambda path: path.stem)
def test_what_a_handout_shows_has_no_output_no_claim_and_no_title_of_a_figure(path, tmp_path):
    before = path.read_bytes()
    made = nbformat.read(handout.make(path, tmp_path), as_version=4)
    stored = nbformat.read(path, as_version=4)
    assert path.read_bytes() == before
    assert [(c.id, c.source) for c in made.cells] == [(c.id, c.source) for c in stored.cells]
    assert not any(c.get("outputs") or c.get("execution_count") for c in made.cells)
    code = [c for c in made.cells if c.cell_type == "code" and not notebooks.is_hidden(c)]
    shown = "\n".join(c.source for c in code)
    assert not re.search(r"\b(claim|follows|answer)\(", shown) and "predict(" in shown
    titles = re.findall(r'"\[(?:figure|table)\] ([^\\"]{30,})', json.dumps(stored))
    assert not [title for title in titles if title in shown]


def test_a_handout_replaces_a_fresh_one_and_no_other_file(tmp_path):
    path = files.chapters()[0]
    target = handout.make(path, tmp_path / "mine.ipynb")
    assert handout.make(path, target) == target
    run = nbformat.read(target, as_version=4)
    run.cells[1].execution_count = 1
    nbformat.write(run, target)
    other = tmp_path / "notes.ipynb"
    other.write_text("a stranger's")
    for taken in (target, other, path):
        before = taken.read_bytes()
        with pytest.raises(notebooks.NotebookError, match=r"Nothing was written: .*--output FILE"):
            handout.make(path, taken)
        assert taken.read_bytes() == before
