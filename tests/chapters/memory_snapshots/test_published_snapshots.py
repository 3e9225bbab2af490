"""The published snapshots: the numbers of the real files, repeated by our allocator."""

import pytest
import torch

from course_utils.chapters.memory_snapshots.made_snapshots import loaded, made
from course_utils.chapters.memory_snapshots.published_snapshots import published_snapshot
from course_utils.core import files
from course_utils.memory.recorded import blocks, events, is_repeated
from course_utils.memory.snapshots import snapshot
from course_utils.memory.snapshots.lives import history
from course_utils.memory.views.timeline import draw_histories


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
