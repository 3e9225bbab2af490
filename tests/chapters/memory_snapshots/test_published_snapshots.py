"""The published snapshots: the numbers of the real files, repeated by our allocator."""

import pytest

from course_utils.chapters.memory_snapshots.published_snapshots import (
    agreed,
    published_snapshot,
    replayed,
    replayed_rows,
)
from snapshots_and_traces.allocator.rules import CachingAllocator
from snapshots_and_traces.tests.support.broken_rules import NoCoalescing, NoLargeBuffer


def test_the_librarys_allocator_is_at_the_gpus_addresses_and_a_broken_one_isnt():
    assert agreed(CachingAllocator) == (25, 25)
    same, asked = agreed(NoCoalescing)
    assert same < asked == 25 and agreed(NoLargeBuffer) == (25, 25)
    rows = replayed("Liger's", CachingAllocator)
    assert all(row["same"] and row["offset"] == row["here"] for row in rows)
    assert sum(row["action"] == "segment_alloc" for row in rows) == 2
    with pytest.raises(LookupError, match=r"there are F\.cross_entropy"):
        published_snapshot("mse")


def test_a_request_whose_segments_are_not_the_gpus_is_not_the_same():
    class Doubles(CachingAllocator):
        def segment_size(self, size):
            return 2 * super().segment_size(size)

    class Hoards(CachingAllocator):
        def segment_size(self, size):
            return 2**31

        def splits(self, block, size):
            return True

    first, second, *_ = replayed("F.cross_entropy", Doubles)
    assert (first["action"], first["same"]) == ("segment_alloc", False)
    assert (second["offset"], second["same"]) == (second["here"], False)
    rows = replayed("F.cross_entropy", Hoards)
    assert [row["here"] for row in rows if row["action"] == "segment_alloc"].count(None) == 3
    shown = replayed_rows("F.cross_entropy", Hoards)
    assert shown[0]["GPU"] == "0x68000000" and shown[0]["bytes"] == "262,144,000"
    assert [row["here"] for row in shown].count("–") == 3
