"""The published snapshots: the numbers of the real files, repeated by our allocator."""

import pytest
import torch

from course_utils.chapters.memory_snapshots.published_snapshots import (
    agreed,
    published_snapshot,
    replayed,
    replayed_rows,
)
from course_utils.core import files
from course_utils.memory.allocator.rules import CachingAllocator
from course_utils.memory.made_snapshots import loaded, made
from course_utils.memory.recorded import blocks, events, is_repeated
from course_utils.memory.snapshots import snapshot
from course_utils.memory.snapshots.lives import history
from course_utils.memory.views.timeline import draw_histories
from tests.support.broken_rules import NoCoalescing, NoLargeBuffer


@pytest.mark.parametrize(
    "loss, file", [("F.cross_entropy", "cross_entropy_vanilla"), ("Liger's", "cross_entropy_liger")]
)
def test_the_published_snapshots_are_the_numbers_of_the_real_files(loss, file):
    path = files.ROOT.parent / "shared" / "snapshots" / f"{file}.pickle"
    found = published_snapshot(loss)
    assert is_repeated(found)
    if not path.exists():
        pytest.skip("no real snapshots beside this project")
    real = snapshot.load(path)
    assert events(found) == events(real) and blocks(found) == blocks(real)
    low = min(segment.address for segment in real.segments())
    addresses = ([e.addr for e in one.trace().events()] for one in (found, real))
    assert next(addresses) == [address - low for address in next(addresses)]


def test_a_replay_that_answers_otherwise_is_told_from_one_that_is_repeated():
    content = made(lambda: [torch.ones(10), torch.ones(10)])
    content["device_traces"][0][1]["addr"] += 512
    assert is_repeated(loaded(made(lambda: torch.ones(10)))) and not is_repeated(loaded(content))
    with pytest.raises(LookupError, match=r"there are F\.cross_entropy"):
        published_snapshot("mse")


def test_histories_side_by_side_need_one_at_least():
    one = history(published_snapshot("Liger's"))
    assert draw_histories("two", {"published: x": one, "made": one}).alt == "two"
    with pytest.raises(ValueError, match="no history to draw"):
        draw_histories("none", {})


def test_the_librarys_allocator_is_at_the_gpus_addresses_and_a_broken_one_isnt():
    assert agreed(CachingAllocator) == (25, 25)
    same, asked = agreed(NoCoalescing)
    assert same < asked == 25 and agreed(NoLargeBuffer) == (25, 25)
    rows = replayed("Liger's", CachingAllocator)
    assert all(row["same"] and row["offset"] == row["here"] for row in rows)
    assert sum(row["action"] == "segment_alloc" for row in rows) == 2


def test_a_segment_of_another_size_spoils_the_request_that_asked_for_it():
    class Doubles(CachingAllocator):
        def segment_size(self, size):
            return 2 * super().segment_size(size)

    first, second, *_ = replayed("F.cross_entropy", Doubles)
    assert (first["action"], first["same"]) == ("segment_alloc", False)
    assert (second["offset"], second["same"]) == (second["here"], False)


def test_a_request_that_needs_no_segment_where_the_gpu_did_is_not_the_same():
    class Hoards(CachingAllocator):
        def segment_size(self, size):
            return 2**31

        def splits(self, block, size):
            return True

    rows = replayed("F.cross_entropy", Hoards)
    assert [row["here"] for row in rows if row["action"] == "segment_alloc"].count(None) == 3
    shown = replayed_rows("F.cross_entropy", Hoards)
    assert shown[0]["GPU"] == "0x68000000" and shown[0]["bytes"] == "262,144,000"
    assert [row["here"] for row in shown].count("–") == 3
    with pytest.raises(LookupError, match="there are"):
        replayed("mse", Hoards)
