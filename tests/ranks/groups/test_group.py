"""Which backend and device a group of ranks gets."""

import pytest
import torch

from course_utils.ranks.groups.group import OPENED_AS, choose_backend


@pytest.mark.parametrize(
    "n, gpus, wanted, rank, chosen",
    [
        (4, 0, None, 1, ("gloo", "cpu")),
        (4, 4, None, 1, ("nccl", "cuda:1")),
        (2, 8, None, 1, ("nccl", "cuda:1")),
        (4, 1, None, 1, ("gloo", "cpu")),
        (4, 1, "cuda", 1, ("gloo", "cuda:0")),
        (4, 2, "cuda", 3, ("gloo", "cuda:1")),
        (4, 4, "cpu", 1, ("gloo", "cpu")),
        (2, 2, "cuda", 0, ("nccl", "cuda:0")),
    ],
)
def test_ranks_get_a_gpu_each_or_share_over_gloo(n, gpus, wanted, rank, chosen):
    assert choose_backend(n, gpus, rank, wanted) == chosen


def test_cuda_without_a_gpu_is_a_sentence():
    with pytest.raises(ValueError, match="needs a GPU"):
        choose_backend(2, 0, 0, "cuda")


def test_with_nccl_a_group_takes_cpu_tensors_too():
    assert OPENED_AS == {"nccl": "cpu:gloo,cuda:nccl"}
    config = torch.distributed.distributed_c10d.BackendConfig(OPENED_AS["nccl"])
    assert config.get_device_backend_map()["cpu"] == "gloo"
    assert config.get_device_backend_map()["cuda"] == "nccl"
