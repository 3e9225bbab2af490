"""The published snapshots: the numbers of the real files, repeated by our allocator."""

import pytest

from course_utils.chapters.memory_snapshots.published_snapshots import agreed, published_snapshot
from snapshots_and_traces.allocator.rules import CachingAllocator
from snapshots_and_traces.tests.support.broken_rules import NoCoalescing, NoLargeBuffer


class Doubles(CachingAllocator):
    def segment_size(self, size):
        return 2 * super().segment_size(size)


class Hoards(CachingAllocator):
    def segment_size(self, size):
        return 2**31


def test_the_librarys_allocator_is_at_the_gpus_addresses_and_a_broken_one_isnt():
    assert agreed(CachingAllocator) == agreed(NoLargeBuffer) == (25, 25)
    for broken in (NoCoalescing, Doubles, Hoards):
        same, asked = agreed(broken)
        assert same < asked == 25
    with pytest.raises(LookupError, match=r"there are F\.cross_entropy"):
        published_snapshot("mse")
