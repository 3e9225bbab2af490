"""Sizes of blocks: those of torch itself in real files, those of the toy at every moment."""

import pytest

from course_utils.memory.page.blocks import history_of_blocks
from course_utils.memory.snapshots.snapshot import load
from tests.support import snapshot_pages as made
from tests.support.snapshots import MIB, REAL, real, some_work
from tests.support.toy_allocator import ToyAllocator


def sizes_at(of, moment):
    alive = of.allocations.at(moment)
    addresses, sizes = of.allocations.address[alive], of.block_sizes[alive]
    return dict(zip(addresses.tolist(), sizes.tolist(), strict=True))


@real
def test_blocks_at_the_end_have_the_sizes_that_torch_gave_them(file):
    if not REAL:
        pytest.skip("the folder ../shared/snapshots isn't here")
    snapshot = load(file)
    of = history_of_blocks(snapshot, snapshot.devices[0])
    torchs = {b.address: b.size for s in snapshot.segments(snapshot.devices[0])
              for b in s.blocks if b.live}  # fmt: skip
    assert sizes_at(of, of.moments - 1) == torchs


@pytest.mark.parametrize("expandable", [False, True])
def test_blocks_have_the_toys_sizes_at_every_moment(expandable):
    toy = some_work(expandable)
    of = history_of_blocks(made.read(toy))
    assert (of.block_sizes - of.allocations.size).max() > (0 if expandable else MIB // 2)
    for moment, (blocks, _) in enumerate(toy.states):
        assert sizes_at(of, moment) == {address: size for address, size, _, _ in blocks}


def test_what_is_too_large_to_be_split_takes_its_whole_block():
    toy = ToyAllocator()
    toy.free(toy.alloc(100 * MIB, "main"))
    toy.alloc(60 * MIB, "main")
    content = toy.snapshot()
    for limit, size in ((-1, 60), (50 * MIB, 100), (80 * MIB, 60)):
        content["allocator_settings"] = {"max_split_size": limit}
        assert history_of_blocks(made.read(content)).block_sizes[-1] == size * MIB
