"""A number that people read has a source beside it, or a reason: design §4."""

import pytest

from course_utils.core import files
from tests.support import prose

chapters = pytest.mark.parametrize("path", files.chapters(), ids=lambda path: path.stem)


@chapters
def test_every_number_that_people_read_has_a_source_or_a_reason_and_no_reason_is_stale(path):
    page = prose.read(path)
    missing = [f"[{passage.cell}] {number.text}" for passage, number in page.missing()]
    assert missing == [], f"python -m tests.support.prose {path.stem[:2]} shows them in their words"
    assert page.stale() == [], "reasons that excuse no number of the page any more"


def missing(text, source="pass", printed="", reasons=()):
    cells = [
        {"cell_type": "markdown", "source": "# 00\n\n## 1. So?"},
        {"cell_type": "markdown", "source": text},
        {"cell_type": "code", "source": source, "outputs": [{"text": printed}]},
        {"cell_type": "markdown", "source": "## 2. Another section"},
        {"cell_type": "code", "source": "other = 17, 1234", "outputs": []},
    ]
    page = prose.Page(cells, reasons)
    return [number.text for _, number in page.missing()] + page.stale()


@pytest.mark.parametrize(
    "right, wrong, source, printed",
    [
        ("It takes 4 ms.", "It takes 5 ms.", "wait(0.004)", ""),
        ("A table of 256 MiB.", "A table of 512 MiB.", "table = 2**28", ""),
        ("It has 1,048,576 of them.", "1,048,676", "entries = [2**k for k in range(21)]", ""),
        ("It is 76 times as wide.", "It is 67 times as wide.", "", "76.19 times as wide"),
        ("It holds 63 GB/s.", "It holds 36 GB/s.", "", "63.02 GB/s in all"),
        ("It is 82% of it.", "It is 72% of it.", "share = 0.82", ""),
        ("About 20 calls.", "About 24 calls.", "", "19.6 calls"),
        ("400 Gbit/s and 3.1 hours.", "40 Gbit/s and 3.1 hours.", "", "50 GB/s; 186 minutes"),
        ("137 billion operations.", "147 billion operations.", "work = 1.37e11", ""),
        ("124M parameters, 2⁻²⁴.", "124M parameters, 2⁻²³.", "2.0**-24", "124,000,000"),
        ("312 and 624 TFLOP/s.", "321 and 624 TFLOP/s.", "rates = 312e12, 624e12", ""),
        ("An H200 has 4.8 TB/s.", "An H200 has 4.7 TB/s.", "", ""),
        ("An H200 reads at 55 GB/s.", "It is 45 GB/s.", 'published("host_device_bandwidth")', ""),
        ("Of 1,234 lines.", "Of 17 lines.", "", ""),
        ("Two or 3 of them.", "It takes 8.3 ms.", "", "a call: ≈ 8.3 ms"),
    ],
)  # fmt: skip
def test_what_stands_beside_a_number_is_its_source_and_another_number_is_not(
    right, wrong, source, printed
):
    assert missing(right, source, printed) == []
    assert len(missing(wrong, source, printed)) == 1


def test_a_claim_and_a_title_are_held_against_their_own_cell_and_not_against_themselves():
    claim = 'claim("a-b", "at least {} times as slow, 20% more", ratio, above=13, below=1.2)'
    assert missing("It is 13 times as slow.", claim.format(13)) == []
    assert missing("", claim.format(30), "✓ at least 30 times as slow, 20% more") == ["30 times"]
    assert missing("", 'draw("All of 40 steps")') == ["40"]


@pytest.mark.parametrize(
    "words",
    [
        "FP32, BF16 and E4M3 on an H100 with ResNet-18, PCIe 5, torch 2.11 and Python 3.11",
        "[02](02_async_execution.ipynb), chapter 16, sections 12 and 13, Goyal et al. 2017",
        "the first 2D array, the 33rd of them, `d2l`, `t1`, `x_3`\n```python\nx = 17\n```",
    ],
)
def test_names_numbers_of_chapters_and_years_are_no_quantities(words):
    assert prose.numbers(words) == []


def test_a_reason_excuses_the_numbers_of_its_stretch_and_is_stale_when_it_excuses_none():
    given = ["a GPU of 50 TFLOP/s"]
    assert missing("On **a GPU** of\n50 TFLOP/s.", reasons=given) == []
    assert missing("On a GPU of 60 TFLOP/s.", reasons=given) == ["60 TFLOP/s", *given]
    assert missing("On a GPU of 50 TFLOP/s.", "rate = 50e12", reasons=given) == given
