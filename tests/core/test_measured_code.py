"""The digest of the code that measures: it changes with that code, and with no other."""

import json

import pytest

from course_utils.core import evidence, measured_code

pytestmark = pytest.mark.without_torch


def page(folder, *sources):
    cells = [{"cell_type": "code", "source": source} for source in sources]
    (folder / "page.ipynb").write_text(json.dumps({"cells": cells}))
    measured_code.page_statements.cache_clear()
    measured_code.code_of.cache_clear()
    return folder / "page.ipynb"


BEFORE = (
    "from course_utils import measure, record\nimport torch",
    "n = 3\ndef work(n):\n    'Says what.'\n    return [i for i in range(n)]",
    "i = 7\nprint(i)",
    "record('speed', {'a': measure(lambda: work(n)).median})",
)


@pytest.mark.parametrize(
    "cell, after, same",
    [
        (1, "n = 4\ndef work(n):\n    return [i for i in range(n)]", False),
        (1, "n = 3\ndef work(n):\n    return [j for j in range(n + 1)]", False),
        (1, "n = 3  # why\n\ndef work(n):\n    return [i\n        for i in range(n)]", True),
        (2, "i = 8\nprint(i)", True),
        (3, "record('speed', {'a': measure(lambda: work(n), budget_seconds=1).median})", False),
    ],
    ids=["a constant", "a function", "layout and comments", "another statement", "the record"],
)
def test_a_digest_changes_with_the_code_that_measures_and_no_other(
    tmp_path, monkeypatch, cell, after, same
):
    monkeypatch.setattr(measured_code.files, "chapter_path", lambda _: tmp_path / "page.ipynb")
    page(tmp_path, *BEFORE)
    before = measured_code.code_of("02", "speed")
    page(tmp_path, *BEFORE[:cell], after, *BEFORE[cell + 1 :])
    assert (measured_code.code_of("02", "speed") == before) is same


def test_rewording_a_claim_changes_no_digest(tmp_path, monkeypatch):
    monkeypatch.setattr(measured_code.files, "chapter_path", lambda _: tmp_path / "page.ipynb")
    digests = set()
    for sentence in ("'two is more'", "f'{2} is more'"):
        page(tmp_path, f"claim('two-over-one', {sentence}, 2 > 1)")
        digests.add(measured_code.code_of("02", "claims"))
    assert len(digests) == 1


def test_a_digest_reaches_into_the_library_and_leaves_out_what_only_draws(tmp_path):
    found = {}
    measured_code._follow("core.timing", "measure", found)
    assert {"measure", "DeviceClock", "synchronize", "Measurement"} <= set(found)
    measured_code._follow("memory", "*", found)  # as `from course_utils import memory` leads
    assert {"count", "_tensors"} <= set(found)
    measured_code._follow("figures.compare", "compare_bars", found)
    assert "compare_bars" not in found


def test_every_experiment_of_the_course_has_a_digest():
    for chapter, declared in evidence.experiments().items():
        for name in declared:
            assert len(measured_code.code_of(chapter, name)) == 12


def test_a_name_that_two_rooms_have_gives_one_digest_in_whatever_order_they_are_met(
    tmp_path, monkeypatch
):
    """Names are kept in sets, whose order a process draws: another order is another process."""
    monkeypatch.setattr(measured_code.files, "ROOT", tmp_path)
    rooms = tmp_path / "course_utils"
    rooms.mkdir()
    (rooms / "a.py").write_text("def start():\n    return step()\ndef step():\n    return 1\n")
    (rooms / "b.py").write_text("def other():\n    return step()\ndef step():\n    return 2\n")
    orders = [("a", "start"), ("b", "other")], [("b", "other"), ("a", "start")]
    measured_code._room.cache_clear()
    one, two = ({}, {})
    for found, order in zip((one, two), orders, strict=True):
        for place in order:
            measured_code._follow(*place, found)
    measured_code._room.cache_clear()
    assert one == two and len(one["step"]) == 2
