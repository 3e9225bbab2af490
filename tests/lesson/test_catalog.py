"""The catalog: every chapter once, its exercises those of its cells, and each solution shown."""

import json
import re

import pytest

from course_utils import start
from course_utils.core import files
from course_utils.lesson import catalog, exercises
from course_utils.lesson.exercises import worked


@pytest.mark.parametrize("chapter", catalog.chapters(), ids=lambda one: one.stem)
def test_the_exercise_cells_of_a_page_are_its_exercises_and_each_has_a_worked_solution(chapter):
    cells = [c for c in catalog.code_cells(chapter.path) if c["id"].startswith(catalog.EXERCISE)]
    for cell, exercise in zip(cells, chapter.exercises(), strict=True):
        assert f'check("{exercise}"' in cell["source"]
        found = worked(exercise, exercises.find(exercise).solution)
        assert found.words.startswith("## ") and found.code.count(f'check("{exercise}"') == 1
        compile(found.code, exercise, "exec")


def test_a_reader_who_overwrites_a_cell_has_as_many_exercises_to_solve(monkeypatch, tmp_path):
    (chapter,) = (c for c in catalog.chapters() if c.stem == "06_floating_point_formats")
    before = chapter.cells_before_the_exercises(), chapter.exercises()
    page = json.loads(chapter.path.read_text())
    for cell in page["cells"]:
        if cell["id"] == "exercise-2":
            cell["source"] = ["mine = 1"]
    monkeypatch.setattr(files, "NOTEBOOKS", tmp_path)
    chapter.path.write_text(json.dumps(page))
    assert (chapter.cells_before_the_exercises(), chapter.exercises()) == before


@pytest.mark.parametrize(
    "random_id",
    ["5f0e7d2c-3b1a-4c8e-9d6f-0a1b2c3d4e5f", "abcdefab-1234-4c8e-9d6f-0a1b2c3d4e5f", "a1b2c3d4",
     "1b2c3d4e", "xK3bXyZ12_ab"],
)  # fmt: skip
def test_a_cell_that_the_reader_inserts_is_none_of_the_chapters(random_id, monkeypatch, tmp_path):
    chapter = catalog.chapters()[0]
    before = chapter.cells_before_the_exercises()
    page = json.loads(chapter.path.read_text())
    mine = {"cell_type": "code", "id": random_id, "source": ["mine = 1"]}
    monkeypatch.setattr(files, "NOTEBOOKS", tmp_path)
    chapter.path.write_text(json.dumps(page | {"cells": [page["cells"][0], mine, *page["cells"]]}))
    assert chapter.cells_before_the_exercises() == before


def test_every_chapter_of_the_course_is_in_the_catalog_once_and_linked_from_the_index():
    numbers = [chapter.number for chapter in catalog.chapters()]
    assert numbers == [f"{n:02}" for n in range(1, 19)]
    assert {path.stem for path in files.chapters()} == {c.stem for c in catalog.chapters()}
    assert {needed for c in catalog.chapters() for needed in c.after} <= set(numbers)
    index = files.INDEX.read_text(encoding="utf-8")
    for chapter in catalog.chapters():
        assert catalog.code_cells(chapter.path) and chapter.minutes
        assert f"]({chapter.path.name})" in index


@pytest.mark.parametrize("name, column", [("README.md", 3), ("INSTRUCTORS.md", 2)])
def test_the_lists_of_chapters_say_the_minutes_that_the_pages_say(name, column):
    rows = [row.split("|") for row in (files.ROOT / name).read_text().splitlines() if "|" in row]
    for chapter in catalog.chapters():
        (row,) = (one for one in rows if re.match(rf" \[?{chapter.number}( ·| $)", one[1]))
        assert row[column].split()[0] == str(chapter.minutes), chapter.stem


def test_a_chapter_that_does_not_exist_cannot_start():
    with pytest.raises(LookupError, match="No single chapter is called '77_none'"):
        start("77_none")
