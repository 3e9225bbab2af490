"""Tables in small and in huge pages, as the kernel says, and systems that have no choice."""

import mmap

import pytest

from course_utils.chapters.your_machine import paging
from course_utils.chapters.your_machine.paging import huge_bytes, ones_in_pages

MIB = 2**20


def test_small_pages_are_small_and_huge_ones_huge_where_the_system_gives_them():
    before = huge_bytes()
    table = ones_in_pages(16 * MIB)
    assert (table.nbytes, table.min().item(), table.max().item()) == (16 * MIB, 1, 1)
    assert huge_bytes() - before < 4 * MIB
    before = huge_bytes()
    table = ones_in_pages(64 * MIB, huge=True)
    if table is None:
        pytest.skip("this system gives no huge pages")
    assert table.nbytes == 64 * MIB and table.sum() == 16 * MIB
    assert huge_bytes() - before >= 32 * MIB


def test_a_system_without_huge_pages_has_ordinary_tables_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(paging, "ROLLUP", tmp_path / "missing")  # nobody says that they are huge
    assert ones_in_pages(MIB, huge=True) is None and huge_bytes() == 0
    for name in ("MADV_HUGEPAGE", "MADV_NOHUGEPAGE"):
        monkeypatch.delattr(mmap, name, raising=False)
    assert ones_in_pages(MIB, huge=True) is None
    assert ones_in_pages(MIB).sum() == MIB // 4
