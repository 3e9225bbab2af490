"""The README of ranks names what is there, and nothing else."""

import re
from pathlib import Path

from course_utils import ranks
from course_utils.ranks.page import magic

TEXT = (Path(ranks.__file__).parent / "README.md").read_text(encoding="utf-8")
FIRST = re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)  # a row's first column


def test_every_option_has_a_row_and_every_row_an_option():
    options = {flag for action in magic.parser()._actions for flag in action.option_strings}
    assert set(re.findall(r"`(--[\w-]+)", "\n".join(FIRST))) == options


def test_every_function_has_a_row_and_every_row_a_function():
    named = {name for row in FIRST for name in re.findall(r"`(\w+)\(", row)}
    assert named == {name for name in ranks.ROOMS if name.islower()}
    assert all(f"`{name}`" in TEXT for name in ranks.ROOMS if not name.islower())
