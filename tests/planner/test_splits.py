"""Who works with whom: torch's own mesh says the same; and which link they meet on."""

from dataclasses import replace

import pytest
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

from course_utils.core.evidence import published
from course_utils.planner.splits import AXES, Split, cluster

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
        (lambda: Split(4, chunks=2), "chunks are stages of a pipeline"),
        (lambda: Split(pipeline=16, chunks=2, micro_batches=8), "at most as many ranks busy"),
        (lambda: cluster("my desk"), "no cluster 'my desk'; there are H100"),
    ):
        with pytest.raises(ValueError, match=says):
            wrong()


def test_a_collective_takes_its_bytes_over_the_bandwidth_and_nccls_latency():
    """4 × 8 ranks: 28 hops inside nodes and 3 between, and no factor, which is all_reduce's."""
    (row,) = published("nccl_latencies").rows_where(algorithm="ring", protocol="Simple")
    machine = cluster()
    moved = 1e9 * 31 / 32 / machine.bandwidth(32, 1)
    hops = 28 * row["nvlink_us"] + 3 * row["network_us"] + row["base_us"]
    assert machine.seconds(32, 1, 1e9) == pytest.approx(moved + 1e-6 * hops)
    alone = machine.seconds(8, 1, 0)
    assert alone == pytest.approx(1e-6 * (row["base_us"] + 7 * row["nvlink_us"]))
    assert machine.seconds(1, 1, 1e9) == 0


def test_a_ring_leaves_a_node_through_as_many_ports_as_it_has_ranks_there():
    machine = replace(cluster(), between_gb_per_s=25)
    rates = [machine.bandwidth(size, stride) / 1e9 for size, stride in ((16, 1), (8, 2), (4, 8))]
    assert rates == pytest.approx([200, 100, 25])
    assert machine.bandwidth(8, 1) / 1e9 == pytest.approx(machine.inside_gb_per_s)


def test_a_peak_is_that_of_bf16_or_of_fp16_where_there_is_none():
    assert cluster().peak == 989e12 and cluster("V100, 100 Gbit/s a server").peak == 125e12
