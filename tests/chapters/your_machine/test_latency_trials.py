"""Chains that go everywhere, and waits that are left out where they can't be had."""

import os

import psutil
import pytest

from course_utils.chapters.your_machine.latency_trials import (
    LINE,
    disk_reads,
    loopback_message,
    ring,
)


@pytest.mark.parametrize("stride", [1, LINE])
@pytest.mark.parametrize("n", [8, 4096])
def test_a_chain_goes_from_line_to_line_and_comes_back_after_it_has_been_everywhere(n, stride):
    table, place, seen = ring(8 * stride * n, stride).tolist(), 0, set()
    for _ in range(n):
        seen.add(place)
        place = table[place]
    assert place == 0 and seen == set(range(0, stride * n, stride))


@pytest.mark.parametrize("stride, size", [(1, 0), (1, 32), (1, 100), (1, 96), (LINE, 512)])
def test_a_chain_of_another_size_is_refused(stride, size):
    with pytest.raises(ValueError, match="power of two of bytes"):
        ring(size, stride)


def test_a_message_leaves_no_process_behind():
    before = set(psutil.Process().children())
    took = loopback_message()
    assert took is None or took.median > 0
    assert set(psutil.Process().children()) <= before


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="no file system in memory here")
def test_files_in_memory_are_not_called_a_disk():
    reads = disk_reads("/dev/shm")
    assert reads["disk"] is None and reads["page cache"].median > 0


def test_where_no_file_can_be_written_nothing_is_read(tmp_path):
    assert disk_reads(str(tmp_path / "missing")) == {"page cache": None, "disk": None}
