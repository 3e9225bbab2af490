"""Who works with whom: torch's own mesh says the same; and which link they meet on."""

from dataclasses import replace

import pytest
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

from course_utils.chapters.choosing_a_split import Split, cluster
from course_utils.chapters.choosing_a_split.splits import AXES
from course_utils.chapters.collectives.costs import ring_seconds

SPLITS = (
    Split(2, tensor=4),
    Split(2, 2, tensor=2, pipeline=2, context=2),
    Split(3, tensor=2, pipeline=4),
)


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_groups_are_those_of_torchs_mesh(split):
    for rank in (0, split.gpus // 2 + 1, split.gpus - 1):
        dist.init_process_group("fake", rank=rank, world_size=split.gpus, store=FakeStore())
        try:
            mesh = init_device_mesh("cpu", split.sizes, mesh_dim_names=AXES)
            for axis in AXES:
                assert split.group(axis, rank) == mesh[axis].mesh.tolist(), (axis, rank)
            shards = mesh["shard", "context"].mesh.flatten().tolist()
            assert split.group("gather", rank) == shards
        finally:
            dist.destroy_process_group()


def test_sizes_that_make_no_sense_are_refused_in_a_sentence():
    for wrong, says in (
        (lambda: Split(shard=0), "is a whole number of at least 1"),
        (lambda: Split(pipeline=1.5), "is a whole number of at least 1"),
        (lambda: Split(4, chunks=2), "chunks are pieces of a pipeline"),
        (lambda: Split(8).group("shard", 8), "ranks go from 0 to 7: there is no 8"),
        (lambda: Split(8).group("expert", 0), "no axis 'expert'"),
        (lambda: cluster("my desk"), "no cluster 'my desk'; there are H100"),
    ):
        with pytest.raises(ValueError, match=says):
            wrong()


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
