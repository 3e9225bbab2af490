"""The README's first screen keeps what it promises: short, small pictures, code that runs."""

import re
import subprocess
import sys

import pytest
from PIL import Image

from course_utils.core.files import ROOT
from tools import publication

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_front_page_is_short_and_its_pictures_are_small_and_described():
    assert len(README.splitlines()) <= 110
    pictures = re.findall(r"!\[([^]]*)\]\(([^)]+)\)", README)
    assert {path for _, path in pictures} == {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/pictures").iterdir()
    }
    for words, path in pictures:
        assert len(words) > 60 and (ROOT / path).stat().st_size <= 150_000
        assert Image.open(ROOT / path).width <= 900


@pytest.mark.thorough("README.md", "packages/notebook_ranks", "course_utils/memory/counting.py")
def test_the_lines_to_paste_measure_run_on_four_ranks_and_count_bytes(tmp_path):
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    (tmp_path / "mine.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    time, *ranks, kinds = done.stdout.splitlines()
    assert re.match(r"≈ [\d.]+ (ms|µs|s) \(half of them", time)
    assert ranks == [f"[rank {n}] tensor([6., 6.])" for n in range(4)]
    mib = (1025 * 4096 + 4097 * 10) * 4 / 2**20  # parameters, in FP32; Adam has two moments of each
    assert f"'parameter': '{mib:.1f} MiB'" in kinds
    assert f"'optimizer state': '{2 * mib:.1f} MiB'" in kinds


FILES = publication.KEPT, "README.md", "docs/hosted.md", publication.INDEX


def test_one_address_is_all_that_changes_when_the_course_is_published_or_moves():
    there = {name: (ROOT / name).read_text(encoding="utf-8") for name in FILES}

    def moved(texts, address):
        return {name: publication.rewritten(name, texts[name], address) for name in FILES}

    assert moved(there, publication.address()) == there
    nowhere = moved(there, "")
    assert (
        "colab" not in nowhere["README.md"] and "git clone ADDRESS course" in nowhere["README.md"]
    )
    published = moved(nowhere, "https://github.com/someone/a-course.git")
    assert 'ADDRESS = "https://github.com/someone/a-course.git"' in published["docs/hosted.md"]
    chapters = sorted(path.name for path in (ROOT / "notebooks").glob("*_*.ipynb"))
    links = re.findall(
        r"research\.google\.com/github/someone/a-course/blob/hosted/([^)]+)", published["README.md"]
    )
    assert links == [name for name in chapters if name != "00_index.ipynb"]
    elsewhere = moved(published, "https://git.example.org/a-course")
    assert (
        "git clone https://git.example.org/a-course course && cd course\n" in elsewhere["README.md"]
    )
    assert "colab" not in elsewhere["README.md"]
    assert moved(elsewhere, "") == nowhere
