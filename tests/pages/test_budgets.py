"""Each page's size and minutes against the budgets of the design, section 3.

A skeleton that `make new` made has no budgets yet.
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
def test_a_page_keeps_within_its_budgets(path):
    if is_skeleton(path):
        pytest.skip("a skeleton")
    found = sizes(path)
    for what, (least, most) in BUDGETS.items():
        size = round(found[what], 2)
        assert least <= size <= most, f"{what}: {size}, want {least} to {most}"
