"""A number that people read has a source beside it, or a reason: design §4."""

import ast
from functools import cache

import pytest

from course_utils.core import files
from tests.support.prose import mutants, page, reasons
from tests.support.prose.checker import Checker
from tests.support.prose.numbers import numbers

chapters = pytest.mark.parametrize("path", files.chapters(), ids=lambda path: path.stem)


@cache
def checker(path):
    return Checker(page.read(path))


def markdown(text):
    return {"cell_type": "markdown", "source": text}


def code(source, printed=""):
    outputs = [{"text": printed}] if printed else []
    return {"cell_type": "code", "source": source, "outputs": outputs}


def unresolved(*cells, given=None):
    checked = Checker(page.of_cells("00_made", [markdown("# 00"), *cells]), given or {})
    verdicts = [v for passage in checked.page.passages for v in checked.verdicts(passage)]
    return [(v.number.text, v.outcome) for v in verdicts if not v.resolved]


@chapters
def test_every_number_that_people_read_has_a_source_or_a_reason(path):
    verdicts = [v for p in checker(path).page.passages for v in checker(path).verdicts(p)]
    missing = [f"[{v.passage.index}] {v.number.text}" for v in verdicts if not v.resolved]
    assert missing == [], f"python -m tests.support.prose {path.stem[:2]} says what is beside them"


@chapters
def test_every_reason_speaks_of_a_number_that_is_still_on_the_page(path):
    assert reasons.stale(checker(path).page, checker(path).reasons) == []


@chapters
def test_most_changes_of_a_number_would_be_noticed(path):
    tally = mutants.planted(checker(path), every=5)
    assert tally.share > 0.8, [(v.passage.index, v.number.text, new) for v, new in tally.escaped]


@pytest.mark.parametrize(
    ("written", "value", "kind"),
    [
        ("1,024 rows", 1024, None),
        ("2⁻²⁴", 2**-24, None),
        ("10^7 of them", 1e7, None),
        ("82% of it", 0.82, "share"),
        ("5.5× as fast", 5.5, "ratio"),
        ("16 times", 16, "ratio"),
        ("1 MiB", 2**20, "bytes"),
        ("63 GB/s", 63e9, "bytes/time"),
        ("400 Gbit/s", 50e9, "bytes/time"),
        ("3.1 hours", 3.1 * 3600, "time"),
        ("137 billion operations", 137e9, None),
        ("124M parameters", 124e6, None),
        ("five messages", 5, None),
        ("½ of it", 0.5, None),
    ],
)
def test_a_number_is_read_as_people_write_it(written, value, kind):
    (found,) = numbers(f"It has {written}.")
    assert found.value == pytest.approx(value) and found.kind == kind


def test_numbers_of_a_list_share_the_last_ones_unit():
    assert [n.value for n in numbers("19.5, 312 and 624 TFLOP/s")] == [19.5e12, 312e12, 624e12]


@pytest.mark.parametrize(
    "words",
    [
        "FP32, BF16 and E4M3 on an H100 with ResNet-18",
        "PCIe 5, NVLink 2, torch 2.11 and Python 3.11",
        "## 3. What next?",
        "chapter 6, sections 2 and 3, exercise 4",
        "[02](02_async_execution.ipynb)",
        "In 2012, and in Goyal et al. 2017",
        "the first 2D array, the 3rd of them, `d2l`, `t1`, `x_3`",
        "```python\nx = 17\n```",
    ],
)
def test_names_numbers_of_chapters_and_years_are_no_quantities(words):
    assert numbers(words) == []


@pytest.mark.parametrize(
    ("prose", "source", "printed"),
    [
        ("It takes 4 ms.", "wait(0.004)", ""),
        ("A table of 256 MiB.", "table = 2**28", ""),
        ("It has 1,048,576 entries.", "entries = [2**k for k in range(21)]", ""),
        ("A width of 768.", "GPTConfig(width=768)", ""),
        ("It is 76 times as wide.", "print(a / b)", "76.19 times as wide"),
        ("It holds 63 GB/s.", "look()", "63.02 GB/s in all"),
        ("About 20 calls.", "look()", "19.6 calls"),
        ("Half reach 62%.", "claim('a-b', 'so', x == 0.62)", ""),
        ("On 4 ranks it waits.", "%%ranks 4\nwait()", ""),
        ("`torch.ones(3)` is short.", "x = torch.ones(3)", ""),
        ("In 2(n−1) steps.", "steps = 2 * (n - 1)", ""),
        ("2·4096³ = 137 billion.", "pass", ""),
        ("An H200 has 4.8 TB/s.", "pass", ""),
    ],
)
def test_what_stands_beside_a_number_is_its_source(prose, source, printed):
    assert unresolved(markdown("## 1. So?"), markdown(prose), code(source, printed)) == []


@pytest.mark.parametrize(
    ("prose", "source", "printed"),
    [
        ("It takes 5 ms.", "wait(0.004)", ""),
        ("A table of 512 MiB.", "table = 2**28", ""),
        ("It is 67 times as wide.", "print(a / b)", "76.19 times as wide"),
        ("About 24 calls.", "look()", "19.6 calls"),
        ("On 5 ranks it waits.", "%%ranks 4\nwait()", ""),
        ("Five ranks wait.", "%%ranks 4\nwait()", ""),
        ("In 3(n−1) steps.", "steps = 2 * (n - 1)", ""),
        ("2·4096³ = 147 billion.", "n = 4096", ""),
        ("An H200 has 4.7 TB/s.", "pass", ""),
    ],
)
def test_another_number_is_not(prose, source, printed):
    found = unresolved(markdown("## 1. So?"), markdown(prose), code(source, printed))
    assert len(found) >= 1 and {outcome for _, outcome in found} == {"nothing"}


def test_a_number_that_rests_on_a_live_value_would_be_false_on_the_next_machine():
    found = unresolved(markdown("It takes 8.3 ms."), code("look()", "a call: ≈ 8.3 ms"))
    assert found == [("8.3 ms", "live")]


def test_another_section_is_no_source_for_a_small_number():
    first = markdown("## 1. So?"), code("heads = 7")
    assert unresolved(*first, markdown("## 2. And?\n\nIt has 7 heads.")) == [("7", "nothing")]


def test_a_claims_sentence_is_held_against_its_own_condition():
    right = code('claim("a-b", "at least 3 times as slow", far / mid > 3)')
    wrong = code('claim("a-b", "at least 30 times as slow", far / mid > 3)')
    assert unresolved(right) == [] and unresolved(wrong) == [("30 times", "nothing")]


def test_a_claims_own_sentence_in_the_output_is_no_source():
    said = 'claim("a-b", "it takes 17 steps", done)'
    assert unresolved(code(said, "✓ it takes 17 steps")) == [("17", "nothing")]


def test_a_figures_title_is_held_against_its_cell():
    assert unresolved(code('draw("All of 40 steps", rows)')) == [("40", "nothing")]
    assert unresolved(code('steps = 40\ndraw("All of 40 steps", rows)')) == []


def test_a_reason_stands_for_the_numbers_of_its_stretch_and_no_others():
    given = {"a GPU of 50 TFLOP/s": "given in the question"}
    assert unresolved(markdown("On **a GPU** of\n50 TFLOP/s."), given=given) == []
    assert unresolved(markdown("On a GPU of 60 TFLOP/s."), given=given) != []
    made = page.of_cells("00_made", [markdown("# On a GPU of 60 TFLOP/s.")])
    assert reasons.stale(made, given) == list(given)


def test_code_that_computes_a_list_gives_all_of_it():
    from tests.support.prose import code as read_code

    found = {value for value, _ in read_code.constants(ast.parse("[4**k for k in range(3)]"), {})}
    assert {1.0, 4.0, 16.0} <= found
