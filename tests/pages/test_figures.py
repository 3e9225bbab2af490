"""Figures are compared as data: each stored picture is the one that was drawn with its text."""

import ast
import base64
import configparser
import io
import json

import pytest
from PIL import Image, ImageOps

from course_utils.core import files
from course_utils.figures import alt_text
from course_utils.figures.compare import compare_bars
from course_utils.figures.style import stamp
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
    assert parser["measured"]["regex"] == alt_text.MEASURED.pattern


def test_drawers_are_found_by_what_they_declare_and_counted_where_a_cell_calls_them():
    known = "compare_bars draw draw_box command_queue BitExplorer SegmentsMap course_map render"
    assert set(known.split()) <= drawers()
    assert "claim" not in drawers() and "sketch" not in drawers()
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


def drawn(title="Two copies"):
    """What a cell keeps of a figure."""
    data, _ = compare_bars(title, PUBLISHED)._repr_mimebundle_()
    return data


def found_in(*outputs):
    """What is wrong with a stored cell that draws one figure."""
    stored = [{"output_type": "execute_result", "data": data} for data in outputs]
    return problems({"source": "compare_bars('Two copies', found)", "outputs": stored})


def edited(change, text=""):
    """The figure with its picture changed, as an image editor would store it."""
    data, png = drawn(), io.BytesIO()
    change(Image.open(io.BytesIO(base64.b64decode(data["image/png"])))).save(png, format="png")
    changed = stamp(png.getvalue(), text) if text else png.getvalue()
    return {**data, "image/png": base64.b64encode(changed).decode()}


def blank(image):
    return Image.new("RGB", image.size, "white")


NOT_ITS_OWN = "not the picture that was drawn with this text"
MISSING = "1 pictures are drawn and 0 stored"


CASES = {
    "as drawn": (lambda data: [data], []),
    "mirrored": (lambda data: [edited(ImageOps.mirror)], [NOT_ITS_OWN]),
    "saved again": (lambda data: [edited(Image.Image.copy)], [NOT_ITS_OWN]),
    "blank": (lambda data: [edited(blank, text=data["text/plain"])], ["small or blank"]),
    "another's": (lambda _: [{**drawn(), "image/png": drawn("Two")["image/png"]}], [NOT_ITS_OWN]),
    "a changed text": (lambda data: [{**data, "text/plain": "[figure] Two\n a"}], [NOT_ITS_OWN]),
    "no text": (
        lambda data: [{**data, "text/plain": "<Picture>"}],
        ["a picture without its text"],
    ),
    "no picture": (
        lambda data: [{"text/plain": data["text/plain"]}],
        ["a text without its picture", MISSING],
    ),
    "nothing": (lambda data: [], [MISSING]),
}


@pytest.mark.parametrize("outputs, wrong", CASES.values(), ids=CASES)
def test_a_picture_that_is_not_the_one_that_was_drawn_with_its_text_is_found(outputs, wrong):
    assert found_in(*outputs(drawn())) == wrong
