"""Each page's size and minutes against the budgets of the design, section 3.

`OVER` lists what pages exceed until they are rewritten. It may only shrink: an entry that a page
has come below must be lowered, and one that is within its budget must go. A
skeleton that `make new` made has no budgets yet.
"""

import re

import pytest

from tests.pages.test_hidden_answers import is_hidden
from tests.pages.test_structure import cells, chapters, is_skeleton, read, source

BUDGETS = {  # at least, at most
    "cells": (35, 65),  # that a reader sees: without collapsed ones and those of the exercises
    "predictions": (0, 12),
    "claims": (0, 25),
    "words": (2000, 3500),
    "minutes": (0.8, 1.2),  # those that the title says, for one that a reader needs
}
WORDS_A_MINUTE, MINUTES_A_PREDICTION = 130, 1.5
OVER: dict[str, dict[str, float]] = {
    "12": {"predictions": 17, "claims": 34},
    "13": {"cells": 170, "predictions": 26, "claims": 71, "words": 4557, "minutes": 1.54},
}


def sizes(path):
    """How much of each budget a page uses."""
    page = read(path)["cells"]
    code = "\n".join(source(cell) for cell in page if cell["cell_type"] == "code")
    predictions = len(re.findall(r"^predict\(", code, re.M))
    words = sum(len(source(cell).split()) for cell in cells(path, "markdown"))
    return {
        "cells": sum(not is_hidden(c) and not c["id"].startswith("exercise-") for c in page),
        "predictions": predictions,
        "claims": len(re.findall(r"^\s*(?:claim|follows|with refuses)\(", code, re.M)),
        "words": words,
        "minutes": minutes_said(page) / minutes_needed(page, words, predictions),
    }


def minutes_said(page):
    """Minutes by the title cell, those "for the exercises" included."""
    said = re.search(r"^(\d+) minutes(?:, and (\d+) for the exercises)?", source(page[0]), re.M)
    return sum(int(n) for n in said.groups() if n)


def minutes_needed(page, words, predictions):
    """Minutes to read, answer, run (one), and solve the exercises in the time that each names."""
    text = "\n".join(source(cell) for cell in page if cell["cell_type"] == "markdown")
    exercises = sum(map(int, re.findall(r"^> \*\*Exercise.*\((\d+) minutes", text, re.M)))
    return words / WORDS_A_MINUTE + MINUTES_A_PREDICTION * predictions + 1 + exercises


@chapters
def test_a_page_keeps_within_its_budgets_or_gets_no_larger(path):
    found, listed = sizes(path), OVER.get(path.stem[:2], {})
    if is_skeleton(path):
        pytest.skip("a skeleton")
    for what, (least, most) in BUDGETS.items():
        size = round(found[what], 2)
        if what not in listed:
            assert least <= size <= most, f"{what}: {size}, want {least} to {most}"
            continue
        assert not least <= size <= most, f"{what} is within its budget: take it out of OVER"
        assert size == pytest.approx(listed[what]), f"{what}: {size}; OVER may only come nearer"
