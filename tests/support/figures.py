"""Pictures in stored cells: what is wrong with them, and which cells must have some."""

import ast
import base64
import io
import re
from functools import cache

from PIL import Image

from course_utils.core import files
from course_utils.figures import style as stamp

SHOWN = ("Picture", "Controls", "PicturedPage")  # what a drawer returns, or a widget is
WIDGETS = {"Controls", "AnyWidget", "SnapshotPage"}


@cache
def drawers():
    """Every public function of the library that gives a picture or controls, every widget's class.

    Found by what they declare: the type they return, or the class they are made from.
    """
    trees = [ast.parse(path.read_text()) for path in (files.ROOT / "course_utils").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    named = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and node.returns
        and ast.unparse(node.returns).strip("'\"").endswith(SHOWN)
    }
    classes = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }
    widgets = set(WIDGETS)
    while more := {name for name, bases in classes.items() if bases & widgets} - widgets:
        widgets |= more
    return {name for name in named | widgets if not name.startswith("_")}


def count_drawn(source):
    """How many pictures a cell draws: calls of drawers that run when the cell does."""
    code = re.sub(r"^\s*[%!].*$", "pass", source, flags=re.M)
    waiting, count = [ast.parse(code)], 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            count += name in drawers()
        waiting += ast.iter_child_nodes(node)
    return count


def problems(cell):
    """What is wrong with a stored cell's pictures, in words."""
    found, pictures = [], 0
    for output in cell["outputs"]:
        data = output.get("data", {})
        text = "".join(data.get("text/plain", ""))
        tells = text.startswith(("[figure] ", "[widget] "))
        pictures += "image/png" in data
        if tells != ("image/png" in data):
            found.append("a text without its picture" if tells else "a picture without its text")
        elif tells:
            found += picture_problems(base64.b64decode("".join(data["image/png"])), text)
    drawn = count_drawn("".join(cell["source"]))
    if drawn != pictures:
        found.append(f"{drawn} pictures are drawn and {pictures} stored")
    return found


def picture_problems(png, text):
    """What is wrong with a picture and the text beside it, in words."""
    found = []
    if not stamp.is_of(png, text):
        found.append("not the picture that was drawn with this text")
    if "\n" not in text:
        found.append("its text doesn't say what it draws")
    image = Image.open(io.BytesIO(png)).convert("RGB")
    if image.width < 400 or len(image.getcolors(1 << 24)) <= 10:
        found.append("small or blank")
    return found
