"""A claim's line is stored with its mark, its bound stands where it is seen, and it is tight."""

import ast
import tomllib
from pathlib import Path

import pytest

from course_utils.core import files
from tests.support.page_claims import claims_of

CHAPTERS = files.chapters()
LOOSE = tomllib.loads(Path(__file__).with_name("loose_claims.toml").read_text(encoding="utf-8"))
WIDEST = 2  # a larger margin wants a reason
OF_OTHERS = ("published", "recorded", "by the sheet", "by its sheet")
chapters = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
written = pytest.mark.parametrize(
    "path", [p for p in CHAPTERS if "✎" not in p.read_text(encoding="utf-8")], ids=lambda p: p.stem
)  # a skeleton's claims hold on any machine


@chapters
def test_every_claim_has_a_stored_line_with_its_mark(path):
    for one in claims_of(path):
        marks = {line[0] for line in one.stored}
        assert marks and marks <= {one.mark, "–"}, (one.id, one.stored)
        assert one.mark == "✓" or marks == {one.mark}, one.id


@chapters
def test_what_others_measured_or_printed_is_not_said_to_be_tested_here(path):
    tested = [c.id for c in claims_of(path) if c.mark == "✓" and c.sentence.startswith(OF_OTHERS)]
    assert tested == []


@chapters
def test_a_bound_is_an_argument_of_its_claim_so_that_its_line_shows_it(path):
    assert [
        one.id for one in claims_of(path) if one.condition and hides_a_bound(one.condition)
    ] == []


def hides_a_bound(condition):
    """A comparison with a number written out, which is more than a sign, inside the condition."""
    for node in ast.walk(condition):
        if isinstance(node, ast.Compare) and any(
            isinstance(op, (ast.Lt, ast.Gt)) for op in node.ops
        ):
            numbers = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
            if any(isinstance(n, (int, float)) and n not in (0, 1) for n in numbers):
                return True
    return False


@written
def test_a_claim_that_could_be_more_than_twice_as_tight_says_why_it_is_not(path):
    listed = LOOSE.get(path.stem[:2], {})
    for one in claims_of(path):
        if one.margin and one.margin > WIDEST:
            most = listed.get(one.id, {"most": WIDEST})["most"]
            assert one.margin <= most, f"{one.id}: margin {one.margin}; tighten it or say why"


@chapters
def test_the_reasons_for_loose_claims_are_those_of_claims_that_are_there(path):
    ids = {one.id for one in claims_of(path)}
    listed = LOOSE.get(path.stem[:2], {})
    assert set(listed) <= ids
    assert all(entry["why"] and entry["most"] > WIDEST for entry in listed.values())
