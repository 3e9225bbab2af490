"""An undecided claim passes its page and is named; nothing else is forgiven."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest
from nbformat import NotebookNode
from nbval.plugin import get_sanitize_patterns

from course_utils.core.claims import claim
from course_utils.core.evidence import Series
from course_utils.core.files import ROOT
from course_utils.core.measurement import Measurement
from course_utils.figures.compare import compare_bars, compare_lines
from tests.support.evidence import PUBLISHED
from tools.undecided import compare, decided, picture_problem

SENTENCE = "a costs at least 3 times b"
BUSY = Measurement((1.0,), 9, 1.24, "host")
UNDECIDED = f"– {SENTENCE}: not decided, other programs took ≈ 1.24 cores\n"


def test_what_claim_prints_on_a_disturbed_machine_is_known_for_undecided(capsys):
    claim("a-costs-b", SENTENCE, False, timed=BUSY)
    said = capsys.readouterr().out
    assert said == UNDECIDED
    claim("a-costs-b", SENTENCE, True, got="≈ 12.0 times")
    stored = capsys.readouterr().out
    assert decided(said, stored) == (
        stored,
        [f"{SENTENCE} (not decided, other programs took ≈ 1.24 cores)"],
    )


@pytest.mark.parametrize(
    "stored",
    [
        f"✓ {SENTENCE} (≈ 12 > 3, margin ≈ 4)\n",
        f"✓ {SENTENCE}\n",
        f"first\n✓ {SENTENCE}\nlast\n",
        f"✓ {SENTENCE} (≈ 4)\n✓ another\n✓ {SENTENCE} (≈ 5)\n",
    ],
)
def test_an_undecided_claim_counts_as_the_stored_one_that_held(stored):
    fresh = re.sub(f"✓ {SENTENCE}.*\n", UNDECIDED, stored)
    text, undecided = decided(fresh, stored)
    assert text == stored and len(undecided) == stored.count(SENTENCE)


@pytest.mark.parametrize(
    "stored",
    [
        "✓ a costs at least 4 times b\n",
        f"✓ {SENTENCE}, and c\n",
        f"∴ {SENTENCE}\n",
        f"– {SENTENCE}: not tested here (a GPU is needed; no recording)\n",
        f"{SENTENCE}\n",
        f"first\n✓ {SENTENCE}\n",
        "",
    ],
)
def test_another_line_in_its_place_is_not_forgiven(stored):
    assert decided(UNDECIDED, stored) == (UNDECIDED, [])


def test_a_measured_number_of_the_sentence_may_differ():
    fresh, stored = UNDECIDED.replace("3 times", "≈ 3.1 times"), f"✓ {SENTENCE}\n"
    stored = stored.replace("3 times", "≈ 2.9 times")
    text, _ = decided(fresh, stored, lambda said: re.sub(r"≈ [\d.]+", "≈ MEASURED", said))
    assert text == stored


def test_nbval_reads_every_rule_of_what_may_differ_and_forgives_a_claim_that_measured_zero():
    written = (ROOT / "tests" / "sanitise.cfg").read_text(encoding="utf-8")
    rules = get_sanitize_patterns(written)  # one whose `replace:` is empty is not read
    assert len(rules) == written.count("\nregex:") == written.count("\nreplace:")
    lines = ["(≈ 0.001 < 0.05, margin ≈ 50)", "(≈ 0 < 0.05)"]
    for regex, replacement in rules:
        lines = [re.sub(regex, replacement, line) for line in lines]
    assert len(set(lines)) == 1


CELLS = {  # what is stored, and what the page prints now; the cells that end in "fails" must
    "held": (f"✓ {SENTENCE}\n", f"✓ {SENTENCE}\n"),
    "undecided": (f"before\n✓ {SENTENCE} (≈ 12)\nafter\n", f"before\n{UNDECIDED}after\n"),
    "other-sentence-fails": ("✓ a costs at least 30 times b\n", UNDECIDED),
    "more-lines-fail-fails": (f"✓ {SENTENCE}\n", f"{UNDECIDED}more\n"),
    "not-tested-fails": (f"– {SENTENCE}: not tested here\n", UNDECIDED),
}


@pytest.mark.thorough("tools/undecided.py")
def test_nbval_passes_an_undecided_claim_and_the_summary_names_it(tmp_path):
    notebook = nbformat.v4.new_notebook()
    for number, (name, (stored, fresh)) in enumerate(CELLS.items(), 1):
        cell = nbformat.v4.new_code_cell(f"print({fresh!r}, end='')", id=name)
        cell.execution_count = number
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=stored)]
        notebook.cells.append(cell)
    nbformat.write(notebook, tmp_path / "page.ipynb")
    sanitise = ["--nbval-sanitize-with", str(ROOT / "tests" / "sanitise.cfg")]
    how = ["--nbval", *sanitise, "--rootdir", str(tmp_path), "-rA", "--color=no"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tools.undecided", *how, "page.ipynb"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    passed = {int(n) for n in re.findall(r"^PASSED page\.ipynb::Cell (\d)", done.stdout, re.M)}
    assert passed == {n for n, name in enumerate(CELLS) if not name.endswith("fails")}, done.stdout
    _, _, summary = done.stdout.partition("claims that were not decided")
    assert f"– page.ipynb::Cell 1: {SENTENCE} (not decided, other programs took ≈ 1" in summary


def test_the_picture_of_an_exact_figure_is_compared_and_that_of_a_live_one_is_not(fake_machine):
    fake_machine()

    def lines(factor):
        squares = Series.exact({x: float(factor * x * x) for x in range(1, 5)})
        return compare_lines("Lines", [("x²", squares)], x_label="x", y_label="y").bundle("Lines")

    assert picture_problem(lines(1), lines(1)) == ""
    assert "differs from the stored one in" in picture_problem(lines(1), lines(2))
    cell, drawn = (
        SimpleNamespace(),
        [[NotebookNode(data=lines(k), output_type="x")] for k in (1, 2)],
    )
    assert compare(cell, lambda *_: True, drawn[0], drawn[0])
    assert not compare(cell, lambda *_: True, *drawn) and "pixels" in cell.comparison_traceback[0]
    live = [compare_bars("Bars", {"a": 1.0, "b": b}).bundle("Bars") for b in (1.0, 2.0)]
    assert picture_problem(*live) == ""
    other = compare_bars("Bars", PUBLISHED).bundle("Bars")
    assert "pixels, the stored one" in picture_problem(lines(1), other)
