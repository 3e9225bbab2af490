"""Figures are compared as data: each stored picture is the one that was drawn with its text."""

import ast
import base64
import configparser
import io
import json

import pytest
from PIL import Image, ImageOps

from course_utils.core import files
from course_utils.figures.compare import compare_bars
from course_utils.figures.drawn import rounded
from course_utils.figures.drawn.stamp import stamp
from tests.support.evidence import PUBLISHED
from tests.support.figures import count_drawn, drawers, problems

NOTEBOOKS = [files.INDEX, *files.chapters(), *sorted(files.SOLUTIONS.glob("*.ipynb"))]
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: f"{p.parent.name}/{p.stem}")


@by_name
def test_every_picture_that_a_page_draws_is_stored_whole_beside_its_own_text(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    wrong = {cell["id"]: found for cell in code if (found := problems(cell))}
    assert wrong == {}


def test_what_varies_is_the_same_for_a_figure_and_for_the_comparison_of_outputs():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(files.ROOT / "tests" / "sanitise.cfg", encoding="utf-8")
    assert parser["measured"]["regex"] == rounded.MEASURED.pattern


def test_drawers_are_found_by_what_they_declare():
    known = "compare_bars draw draw_box command_queue BitExplorer SegmentsMap course_map render"
    assert set(known.split()) <= drawers()
    assert "claim" not in drawers() and "sketch" not in drawers()


def test_a_cell_draws_what_it_calls_not_what_it_defines():
    assert count_drawn("%matplotlib\ndef later():\n    return draw(spans, 'x')\nmeasure()") == 0
    assert count_drawn("display(compare_bars('a', b), figures.draw(spans, 'x'))") == 2


def test_only_render_makes_a_picture_of_a_figure():
    makers = {
        path.name
        for path in (files.ROOT / "course_utils").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Picture", "savefig"))
    }
    assert makers == {"style.py"}


def cell(title="Two copies"):
    """A cell as it is stored."""
    data = compare_bars(title, PUBLISHED)._repr_mimebundle_()
    outputs = [{"output_type": "execute_result", "data": data}]
    return {"source": "compare_bars('Two copies', found)", "outputs": outputs}


def changed(one, **data):
    (output,) = one["outputs"]
    return {**one, "outputs": [{**output, "data": {**output["data"], **data}}]}


def drawn_again(one, change):
    """The cell with its picture changed, as an image editor would store it."""
    png = base64.b64decode(one["outputs"][0]["data"]["image/png"])
    edited = io.BytesIO()
    change(Image.open(io.BytesIO(png))).save(edited, format="png")
    return edited.getvalue()


def as_text(png):
    return base64.b64encode(png).decode()


NOT_ITS_OWN = ["not the picture that was drawn with this text"]


def test_a_picture_as_it_was_drawn_is_right():
    assert problems(cell()) == []


@pytest.mark.parametrize(
    "change", [ImageOps.mirror, ImageOps.flip, Image.Image.copy], ids=lambda change: change.__name__
)
def test_a_picture_that_was_turned_or_stored_again_is_found(change):
    one = cell()
    assert problems(changed(one, **{"image/png": as_text(drawn_again(one, change))})) == NOT_ITS_OWN


def test_a_blank_picture_is_found_even_with_a_stamp():
    one = cell()
    text = one["outputs"][0]["data"]["text/plain"]
    blank = drawn_again(one, lambda image: Image.new("RGB", image.size, "white"))
    assert problems(changed(one, **{"image/png": as_text(stamp(blank, text))})) == [
        "small or blank"
    ]


def test_the_picture_of_another_figure_is_found():
    other = cell("Two others")["outputs"][0]["data"]["image/png"]
    assert problems(changed(cell(), **{"image/png": other})) == NOT_ITS_OWN


def test_a_changed_text_is_found():
    one = cell()
    text = one["outputs"][0]["data"]["text/plain"]
    assert problems(changed(one, **{"text/plain": f"{text}0"})) == NOT_ITS_OWN


def test_a_deleted_picture_is_found_with_and_without_its_text():
    one = cell()
    (output,) = one["outputs"]
    alone = {"text/plain": output["data"]["text/plain"]}
    missing = "1 pictures are drawn and 0 stored"
    without = {**one, "outputs": [{**output, "data": alone}]}
    assert problems(without) == ["a text without its picture", missing]
    assert problems({**one, "outputs": []}) == [missing]


def test_a_picture_whose_text_was_deleted_is_found():
    assert problems(changed(cell(), **{"text/plain": "<Picture>"})) == [
        "a picture without its text"
    ]
