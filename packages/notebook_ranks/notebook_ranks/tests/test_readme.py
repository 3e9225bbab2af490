"""The README of ranks names what is there, and nothing else, and its example runs."""

import re

import notebook_ranks as ranks
from notebook_ranks.page import magic
from notebook_ranks.tests.kernels import PACKAGE

TEXT = (PACKAGE / "README.md").read_text(encoding="utf-8")
FIRST = re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)  # a row's first column


def test_every_option_and_every_function_has_a_row_and_the_other_way_round():
    options = {flag for action in magic.parser()._actions for flag in action.option_strings}
    assert set(re.findall(r"`(--[\w-]+)", "\n".join(FIRST))) == options
    named = {name for row in FIRST for name in re.findall(r"`(\w+)\(", row)}
    assert named == {name for name in ranks.MODULE_OF if name.islower()}
    assert all(f"`{name}`" in TEXT for name in ranks.MODULE_OF if not name.islower())


def test_the_example_gives_what_it_says(kernel):
    *_, cell, pull = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert "[rank 3] tensor([6., 6.])" in kernel.run(cell).text
    assert kernel.run(pull).text.startswith("[tensor([6., 6.]), tensor([6., 6.])")
