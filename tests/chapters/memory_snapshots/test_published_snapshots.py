"""The published snapshots: the numbers of the real files, repeated by our allocator."""

import pytest

from course_utils.chapters.memory_snapshots.published_snapshots import losses, published_snapshot
from snapshots_and_traces.replay.recorded import is_repeated


def test_the_librarys_allocator_repeats_every_published_snapshot():
    assert all(is_repeated(published_snapshot(loss)) for loss in losses())
    with pytest.raises(LookupError, match=r"there are F\.cross_entropy"):
        published_snapshot("mse")
