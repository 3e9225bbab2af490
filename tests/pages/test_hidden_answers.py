"""Nothing visible under a question gives its answer away: claims and answers are collapsed."""

import ast
import re

import pytest

from tests.pages.test_structure import cells, chapters, source
from tests.support.page_claims import calls_of

ANSWERED = re.compile(r"^Answer(?: \([^)]*\))?: (.*)", re.M)


def is_hidden(cell):
    return cell["metadata"].get("jupyter", {}).get("source_hidden", False)


def names_given(call):
    """What a `predict` lets the reader choose from; empty where it asks for a number."""
    among = next((word.value for word in call.keywords if word.arg == "among"), None)
    return set(ast.literal_eval(among)) if isinstance(among, ast.List) else set()


def strings_of(cell):
    tree = ast.parse(re.sub(r"^\s*[%!].*$", "", source(cell), flags=re.M))
    return {n.value for n in ast.walk(tree) if isinstance(getattr(n, "value", None), str)}


def problems(page):
    """What gives an answer away in the code cells of a page, or shows what should be collapsed."""
    asked, between = {}, {}
    for cell in page:
        for call in calls_of(source(cell), ["predict"]):
            asked[call.args[0].value] = names_given(call)
            between[call.args[0].value] = set()
        answers = calls_of(source(cell), ["answer"])
        if answers or calls_of(source(cell), ["claim", "follows"]):
            if not is_hidden(cell):
                yield f"{cell['id']} shows the source of its claims"
            if any(output["output_type"] != "stream" for output in cell["outputs"]):
                yield f"{cell['id']} draws, which belongs in a cell that is seen"
        printed = "".join("".join(output.get("text", "")) for output in cell["outputs"])
        lines = ANSWERED.findall(printed)
        if len(lines) != len(answers):
            yield f"{cell['id']} has stored {len(lines)} of {len(answers)} answers: run it anew"
        for id, line in zip((call.args[0].value for call in answers), lines, strict=False):
            right = {
                n for n in asked[id] if re.search(rf"(^|, |\[){re.escape(n)}($|, | \(|\])", line)
            }
            if right and between[id] & asked[id] == right:
                yield f"a cell above {cell['id']} holds the answer to {id}, and no other name"
        if not is_hidden(cell) and not source(cell).startswith("predict("):
            for seen in between.values():
                seen |= strings_of(cell)


@chapters
def test_claims_and_answers_are_collapsed_and_no_code_gives_an_answer_away(path):
    assert list(problems(cells(path))) == []


def cell(source, hidden=False, text="", **output):
    outputs = [{"output_type": "stream", "text": text}] * bool(text)
    outputs += [{"output_type": "display_data", **output}] * bool(output)
    metadata = {"jupyter": {"source_hidden": True}} if hidden else {}
    return {"id": "it", "source": source, "outputs": outputs, "metadata": metadata}


ASKED = cell("predict('a.b', ..., among=['ring', 'tree'])")
SAID = "Answer (b): ring\n"


@pytest.mark.parametrize(
    "found, cells",
    [
        (None, [ASKED, cell("answer('a.b', best)", True, SAID)]),
        (None, [ASKED, cell("all = ['ring', 'tree']"), cell("answer('a.b', best)", True, SAID)]),
        ("shows the source", [ASKED, cell("answer('a.b', best)", False, SAID)]),
        ("shows the source", [cell("claim('a-b', 'so', True)", False, "✓ so\n")]),
        ("draws", [cell("follows('a-b', 'so', True)", True, "∴ so\n", data={})]),
        ("holds the answer", [ASKED, cell("x = 'ring'"), cell("answer('a.b', x)", True, SAID)]),
    ],
)
def test_what_gives_an_answer_away_is_found(found, cells):
    said = list(problems(cells))
    assert len(said) == (found is not None) and all(found in one for one in said)
