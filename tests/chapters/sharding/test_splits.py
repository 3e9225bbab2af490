"""Who works with whom: torch's own mesh says the same; and which link they meet on."""

from dataclasses import replace

import pytest
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

from course_utils.chapters.collectives.costs import ring_seconds
from course_utils.chapters.sharding import Split, cluster
from course_utils.chapters.sharding.splits import AXES

SPLITS = (
    Split(8),
    Split(2, tensor=4),
    Split(2, 2, tensor=2, pipeline=2, context=2),
    Split(3, tensor=2, pipeline=4),
    Split(2, tensor=8, context=2, pipeline=2),
)


@pytest.fixture
def as_rank():
    """Makes this process one rank of many, as torch's fake backend has it, until the test ends."""

    def begin(rank, world):
        if dist.is_initialized():
            dist.destroy_process_group()
        dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())

    yield begin
    dist.destroy_process_group()


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_groups_are_those_of_torchs_mesh(split, as_rank):
    for rank in (0, split.gpus // 2 + 1, split.gpus - 1):
        as_rank(rank, split.gpus)
        mesh = init_device_mesh("cpu", split.sizes, mesh_dim_names=AXES)
        for axis in AXES:
            assert split.group(axis, rank) == mesh[axis].mesh.tolist(), (axis, rank)
        shards = mesh["shard", "context"].mesh.flatten().tolist()
        assert split.group("gather", rank) == shards


def test_every_rank_is_in_one_group_of_each_axis():
    split = SPLITS[2]
    for axis in (*AXES, "gather"):
        groups = {tuple(split.group(axis, rank)) for rank in range(split.gpus)}
        assert sorted(sum(groups, ())) == list(range(split.gpus))


def test_sizes_that_make_no_sense_are_refused_in_a_sentence():
    for wrong in ({"shard": 0}, {"tensor": -2}, {"pipeline": 1.5}):
        with pytest.raises(ValueError, match="is a whole number of at least 1"):
            Split(**wrong)
    with pytest.raises(ValueError, match="chunks are pieces of a pipeline"):
        Split(4, chunks=2)
    with pytest.raises(ValueError, match="ranks go from 0 to 7: there is no 8"):
        Split(8).group("shard", 8)
    with pytest.raises(ValueError, match="no axis 'expert'"):
        Split(8).group("expert", 0)
    with pytest.raises(ValueError, match="no cluster 'my desk'; there are H100"):
        cluster("my desk")


def test_an_all_gather_and_a_reduce_scatter_are_an_all_reduce():
    machine = cluster()
    for size, stride in ((8, 1), (16, 1), (8, 8), (32, 8)):
        both = 2 * machine.seconds(size, stride, 1e9)
        assert both == pytest.approx(ring_seconds(machine.link(size, stride), size, 1e9))
    assert machine.seconds(1, 1, 1e9) == 0


def test_a_ring_crosses_a_nodes_edge_through_as_many_ports_as_it_has_ranks_there():
    machine = replace(cluster(), between={"gb_per_s": 25, "step_us": 0})
    per_byte = [machine.link(size, stride).beta for size, stride in ((16, 1), (8, 2), (4, 8))]
    assert [1e-9 / beta for beta in per_byte] == pytest.approx([200, 100, 25])
    assert machine.link(8, 1).beta == pytest.approx(1e-9 / machine.inside["gb_per_s"])


def test_a_split_says_its_sizes_from_the_axis_of_neighbours_outwards():
    assert str(Split(4, tensor=8, pipeline=2)) == "tensor 8 × shard 4 × pipeline 2"
    assert str(Split()) == "one GPU"
