"""A deck: what is chosen from a page, in how many slides; and what a syllabus makes of it."""

import re
import zipfile
from itertools import pairwise

import nbformat
import pytest

from course_utils.cli import handout, sections, slides, syllabus
from course_utils.cli.notebooks import NotebookError
from course_utils.core import files
from course_utils.lesson import catalog

TABLE = (files.ROOT / "INSTRUCTORS.md").read_text(encoding="utf-8")
PAGES = pytest.mark.parametrize("path", files.chapters(), ids=lambda path: path.stem)


def deck(path, **how):
    found = sections.of(path)
    return slides.of_sections(found, {one.title: one.minutes for one in found}, **how)


def small_chapter(folder, **tags):
    def code(source, said="", tag=None, **metadata):
        outputs = [nbformat.v4.new_output("stream", text=said)] if said else []
        metadata["tags"] = [tag] if tag else []
        return nbformat.v4.new_code_cell(source, outputs=outputs, metadata=metadata)

    said = "✓ it holds (≈ 1 > 0.9, margin ≈ 1.1)\nAnswer: two"
    box = {"text/plain": "Your prediction: ☐ one  ☐ two"}
    asked = code("predict('a.b', ...)".replace("'", '"'))
    asked.outputs = [nbformat.v4.new_output("display_data", data=box)]
    cells = [
        nbformat.v4.new_markdown_cell("# 99 · A chapter\n\nPromise.\n\n60 minutes"),
        code("start('99')", "Live on this machine"),
        nbformat.v4.new_markdown_cell("## 1. Why?\n\nA lead.\n\n**Predict.** How many?"),
        asked,
        code("import os"),
        code("def key():\n    return 1", tag=tags.get("key")),
        code("print(key())", "shown", tag=tags.get("figure")),
        code('claim("secret")\nanswer("a.b", 2)', said, jupyter={"source_hidden": True}),
        nbformat.v4.new_markdown_cell("The reason.\n\nMore prose.\n\n## Remember\n\n- Less."),
    ]
    path = folder / "99_a_chapter.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_question_has_its_boxes_and_short_code_and_the_next_slide_the_result(tmp_path):
    title, section, question, answer, remember = deck(small_chapter(tmp_path), code=True)
    shown = ["".join(one.parts()) for one in (title, section, question, answer, remember)]
    assert [one.kind for one in (question, answer)] == ["question", "answer"]
    on = [["Promise"], ["A lead"], ["☐ two", "key"]]
    on += [["shown", "✓ it holds<", "Answer: two", "The reason"], ["Less"]]
    for said, where in ((one, n) for n, some in enumerate(on) for one in some):
        assert [said in one for one in shown].index(True) == where, said
    left_off = ("secret", "predict(", "import os", "start(", "margin", "Live on")
    assert not any(word in one for word in left_off for one in shown)
    assert "More prose." in answer.notes and "minutes, from minute" in answer.timing


def test_tags_and_no_code_override_what_a_cell_is(tmp_path):
    without = deck(small_chapter(tmp_path, key="skip-slide", figure="skip-slide"), code=True)
    bare = deck(small_chapter(tmp_path), code=False)
    assert not any("key" in part or "shown" in part for one in without for part in one.parts())
    text = slides.make(small_chapter(tmp_path), tmp_path, code=False).read_text(encoding="utf-8")
    assert len(bare) == 5 and 'class="code"' not in text and "☐ two" in text


@PAGES
@pytest.mark.parametrize("code", [True, False])
def test_a_chapter_has_45_slides_an_hour_at_most_and_each_question_its_answer_next(path, code):
    found, made = sections.of(path), deck(path, code=code)
    minutes = catalog.minutes_said(path)
    assert minutes * 0.4 < len(made) <= minutes * 0.75
    assert sum(one.minutes for one in found if one.title != sections.EXERCISES) == minutes
    shown = [one.heading for one in made]
    assert list(dict.fromkeys(shown)) == [one.title for one in found]
    for this, then in pairwise(made):
        asked = this.kind == "question" and 'class="options"' in "".join(this.body)
        assert not asked or (then.kind == "answer" and "Answer" in "".join(then.parts()))
    assert not any(re.search(r"\bpredict\(", part) for one in made for part in one.body)


@pytest.mark.parametrize("name", syllabus.names())
def test_a_syllabus_fits_the_pages_and_makes_one_deck_and_handouts_in_its_order(name, tmp_path):
    read = syllabus.read(name)
    text = slides.make_syllabus(name, tmp_path).read_text(encoding="utf-8")
    titles = re.findall(r"<h1>(\d\d) ·", text)
    assert titles == [part.path.stem[:2] for part in read.part if part.chapter]
    with zipfile.ZipFile(handout.make_syllabus(name, tmp_path)) as packed:
        names = [one for one in packed.namelist() if one.endswith(".ipynb")]
        assert {one[:2] for one in names} == {*titles} and "README.md" in packed.namelist()
        for one in names:
            made = nbformat.reads(packed.read(one), as_version=4)
            page = nbformat.read(files.NOTEBOOKS / one, as_version=4)
            code = [[c.id for c in nb.cells if c.cell_type == "code"] for nb in (made, page)]
            assert code[0] == code[1], "all of it runs"
            closed = {c.source[3:].split(" (not in")[0] for c in made.cells
                      if c.metadata.get("jp-MarkdownHeadingCollapsed")}  # fmt: skip
            taught = {t for part in read.part if part.chapter and part.path.name == one
                      for t in part.plan()}  # fmt: skip
            known = {s.title for s in sections.of(files.NOTEBOOKS / one)}
            assert closed == known - taught - {sections.OPENING, sections.REMEMBER}


@pytest.mark.parametrize(
    "change, said",
    [
        ({"sections": {"9. Nothing": 5}}, "02 has no section '9. Nothing'"),
        ({"sections": {"1. How do you time a GPU?": 30}}, "02: 30 minutes for sections that take"),
        ({"exercises": [9]}, "02 has no exercise 9"),
        ({"chapter": "12"}, "12 needs 11 before it"),
        ({"chapter": "77"}, "No single chapter is called '77'"),
        ({"day": 2}, "day 2 is none of the 1"),
    ],
)
def test_a_syllabus_that_does_not_fit_says_what_is_wrong(change, said):
    part = syllabus.Part(**{"chapter": "02"} | change)
    wrong = syllabus.problems(syllabus.Syllabus("A class", [45], [part]))
    assert wrong and wrong[0].startswith(said)


def test_a_day_takes_what_it_promises_and_an_unknown_syllabus_names_the_known():
    part = syllabus.Part(chapter="02")
    assert not syllabus.problems(syllabus.Syllabus("A class", [45], [part]))
    assert "promises 90" in syllabus.problems(syllabus.Syllabus("A class", [90], [part]))[0]
    with pytest.raises(NotebookError, match=r"There are: .*lecture"):
        syllabus.read("nothing")


def test_a_deck_that_is_far_too_long_leaves_out_questions_and_keeps_their_text_in_notes():
    made = deck(files.chapter_path("06"), code=True)
    fewer = slides.choose.within(made, 22)
    assert len(fewer) == 22 and sum(one.kind == "answer" for one in fewer) == 9
    assert "rounded to nearest" in " ".join(note for one in fewer for note in one.notes)


@PAGES
def test_the_instructors_table_has_each_chapters_minutes_by_section(path):
    found = [one for one in sections.of(path) if one.title != sections.EXERCISES]
    row = re.search(rf"^\| {path.stem[:2]} \|.*$", TABLE, re.M)
    said = [int(one) for one in row[0].split("|")[3].split()] if row else []
    now = [one.minutes for one in found]
    near = [abs(a - b) <= 1 for a, b in zip(said, now, strict=False)]
    want = " ".join(map(str, now))
    assert len(said) == len(now) and all(near), f"INSTRUCTORS.md, {path.stem}, by section: {want}"
