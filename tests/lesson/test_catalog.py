"""The catalog: every chapter once, and a page's exercises those of its cells."""

import json
import re

import pytest

from course_utils.core import files
from course_utils.lesson import catalog

FORMATS = "06_floating_point_formats"


@pytest.mark.parametrize("chapter", catalog.written(), ids=lambda one: one.stem)
def test_the_exercise_cells_of_a_page_are_its_exercises(chapter):
    cells = [c for c in catalog.code_cells(chapter.path) if c["id"].startswith(catalog.EXERCISE)]
    assert len(cells) == len(chapter.exercises())
    for cell, exercise in zip(cells, chapter.exercises(), strict=True):
        assert f'check("{exercise}"' in cell["source"]


def test_a_reader_who_overwrites_a_cell_has_as_many_exercises_to_solve(monkeypatch, tmp_path):
    chapter = next(c for c in catalog.written() if c.stem == FORMATS)
    before = chapter.cells_before_the_exercises(), chapter.exercises()
    page = json.loads(chapter.path.read_text())
    for cell in page["cells"]:
        if cell["id"] == "exercise-2":
            cell["source"] = ["mine = 1"]
    monkeypatch.setattr(files, "NOTEBOOKS", tmp_path)
    chapter.path.write_text(json.dumps(page))
    assert (chapter.cells_before_the_exercises(), chapter.exercises()) == before


def test_every_chapter_of_the_course_stands_on_the_map_once():
    numbers = [chapter.number for chapter in catalog.chapters()]
    assert numbers == [f"{n:02}" for n in range(1, 15)]
    assert {path.stem for path in files.chapters()} == {c.stem for c in catalog.written()}
    assert {needed for c in catalog.chapters() for needed in c.after} <= set(numbers)
    for chapter in catalog.written():
        assert catalog.code_cells(chapter.path) and chapter.minutes


@pytest.mark.parametrize("name, column", [("README.md", 3), ("INSTRUCTORS.md", 2)])
def test_the_lists_of_chapters_say_the_minutes_that_the_pages_say(name, column):
    rows = [row.split("|") for row in (files.ROOT / name).read_text().splitlines() if "|" in row]
    for chapter in catalog.written():
        (row,) = (one for one in rows if re.match(rf" \[?{chapter.number}( ·| $)", one[1]))
        assert row[column].split()[0] == str(chapter.minutes), chapter.stem


def test_the_index_links_to_every_chapter():
    text = files.INDEX.read_text(encoding="utf-8")
    for path in files.chapters():
        assert f"]({path.name})" in text
