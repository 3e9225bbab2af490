"""A claim has an id and a stored line with its mark, shows its bound, and is tight."""

import ast
import tomllib
from pathlib import Path

import pytest

from course_utils.core import files
from course_utils.core.claims import ID
from tests.pages.test_structure import is_skeleton
from tests.support.page_claims import claims_of

CHAPTERS = files.chapters()
LOOSE = tomllib.loads(Path(__file__).with_name("loose_claims.toml").read_text(encoding="utf-8"))
WIDEST = 2  # a larger margin wants a reason
OF_OTHERS = ("published", "recorded", "by the sheet", "by its sheet")
chapters = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
written = pytest.mark.parametrize(
    "path", [p for p in CHAPTERS if not is_skeleton(p)], ids=lambda p: p.stem
)  # a skeleton's claims hold on any machine


@chapters
def test_every_claim_has_an_id_of_its_own_and_a_stored_line_with_its_mark(path):
    claims = list(claims_of(path))
    ids = [one.id for one in claims]
    assert [id for id in ids if not ID.fullmatch(id) or id.count("-") > 3] == []
    assert len(ids) == len(set(ids))
    for one in claims:
        marks = {line[0] for line in one.stored}
        assert marks and marks <= {one.mark, "–"}, (one.id, one.stored)
        assert one.mark == "✓" or marks == {one.mark}, one.id


@chapters
def test_what_others_measured_or_printed_is_not_said_to_be_tested_here(path):
    tested = [c.id for c in claims_of(path) if c.mark == "✓" and c.sentence.startswith(OF_OTHERS)]
    assert tested == []


@chapters
def test_a_bound_is_an_argument_of_its_claim_so_that_its_line_shows_it(path):
    hidden = [one.id for one in claims_of(path) if one.condition and any(bounds(one.condition))]
    assert hidden == []


def bounds(condition):
    """The numbers, more than a sign, that the condition itself compares with."""
    for node in ast.walk(condition):
        if isinstance(node, ast.Compare) and {ast.Lt, ast.Gt} & {type(op) for op in node.ops}:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, (int, float)):
                    yield part.value not in (0, 1)


@written
def test_a_claim_that_could_be_more_than_twice_as_tight_says_why_it_is_not(path):
    listed = LOOSE.get(path.stem[:2], {})
    claims = {one.id: one for one in claims_of(path)}
    for id, one in claims.items():
        most = listed.get(id, {"most": WIDEST})["most"]
        assert (one.margin or 0) <= most, f"{id}: margin {one.margin}; tighten it or say why"
    assert set(listed) <= set(claims), "reasons for claims that are no more"
    assert all(entry["why"] and entry["most"] > WIDEST for entry in listed.values())
