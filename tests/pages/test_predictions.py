"""Every **Predict** can be answered below it, before its answer, and is answered on the page."""

import ast
import json
import re

import pytest

from course_utils.core import files
from course_utils.core.guesses import SCALES
from course_utils.lesson.exercises import all_exercises
from course_utils.lesson.predictions import ID
from tests.support.page_claims import calls_of

CHAPTERS = files.chapters()
chapters = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def source(cell):
    return "".join(cell["source"])


def outputs(cell, kind):
    return [output["data"][kind] for output in cell["outputs"]]


def calls(cell, *names):
    return calls_of(source(cell), names) if cell["cell_type"] == "code" else []


@chapters
def test_every_predict_is_followed_by_a_line_of_its_own_that_is_left_to_the_reader(path):
    page = cells(path)
    for cell, below in zip(page, [*page[1:], None], strict=True):
        wanted = source(cell).count("**Predict") if cell["cell_type"] == "markdown" else 0
        assert not wanted or (below and len(calls(below, "predict")) >= wanted), cell["id"]
        if asked := calls(cell, "predict"):
            assert len(ast.parse(source(cell)).body) == len(asked), f"{cell['id']} does more"
            assert all(ast.literal_eval(call.args[1]) is ... for call in asked), cell["id"]
            assert all("Your prediction:" in "".join(box) for box in outputs(cell, "text/html"))
            assert len(outputs(cell, "text/html")) == len(asked), "run the page anew"


@chapters
def test_every_prediction_is_answered_once_and_later_and_named_as_its_chapters_exercises(path):
    made = [call for cell in cells(path) for call in calls(cell, "predict", "answer")]
    order = [(call.func.id, call.args[0].value) for call in made]
    asked = [id for name, id in order if name == "predict"]
    answered = [id for name, id in order if name == "answer"]
    assert len(asked) == len(set(asked)) and sorted(answered) == sorted(asked)
    prefixes = {e.name.partition(".")[0] for e in all_exercises() if path.name in e.solution}
    for id in asked:
        assert order.index(("predict", id)) < order.index(("answer", id)), id
        assert ID.fullmatch(id) and id.partition(".")[0] in prefixes, id


@chapters
def test_an_answer_is_in_base_units_where_its_question_has_a_unit_of_them(path):
    """`answer` takes seconds, bytes and shares: percents of a share would be 100 times too many."""
    made = [call for cell in cells(path) for call in calls(cell, "predict")]
    asked = {call.args[0].value: [arg.value for arg in call.args[2:]] for call in made}
    for cell in cells(path):
        for call in calls(cell, "answer"):
            unit = "".join(asked[call.args[0].value])
            found = ast.unparse(call.args[1])
            if unit in SCALES:
                assert not re.search(r"\b100 \*|\* 100\b|/ 1e\d|/ [GMK]i?B\b", found), found


@chapters
def test_a_figure_shows_a_prediction_that_the_page_asks_for(path):
    code = "\n".join(source(c) for c in cells(path) if c["cell_type"] == "code")
    asked = set(re.findall(r'^predict\(\s*"([\w.]+)"', code, re.M))
    assert set(re.findall(r'guess(?:_at)?="([\w.]+)"', code)) <= asked
