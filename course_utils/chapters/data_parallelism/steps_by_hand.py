"""Data parallelism's steps by hand: nn.DataParallel's in one process, an all_reduce's on ranks.

They import neither DDP nor torch.optim, which take seconds in each new rank.
"""

import copy
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig


def data_parallel(model: nn.Module, batch: Tensor, n: int) -> dict[str, int]:
    """Gradients of mean(logsumexp(output)) as DataParallel makes them: bytes copied by device 0.

    Replicate, scatter, apply in threads, gather, backward, and add up on device 0, whose gradients
    are left in `model`. A "device" is a copy; what device 0 keeps for itself isn't counted.
    """
    shards = batch.tensor_split(n)
    replicas = [model, *(copy.deepcopy(model) for _ in range(n - 1))]
    with ThreadPoolExecutor(n) as threads:
        outputs = list(threads.map(lambda replica, part: replica(part), replicas, shards))
    torch.cat(outputs).logsumexp(-1).mean().backward()
    gradients = [[p.grad for p in replica.parameters()] for replica in replicas]
    for mine, *others in zip(*gradients, strict=True):
        for other in others:
            mine += other
    return {
        "weights out": _bytes(p for replica in replicas[1:] for p in replica.parameters()),
        "batch out": _bytes(shards[1:]),
        "outputs in": _bytes(outputs[1:]),
        "their gradients out": _bytes(outputs[1:]),
        "gradients in": _bytes(g for one in gradients[1:] for g in one if g is not None),
    }


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(x.nbytes for x in tensors)


def step_seconds(batch: int = 32) -> float:
    """Seconds of a step of the tiny GPT with `batch` lines on each rank, on the processor.

    Called on all ranks; one all_reduce sums all gradients.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lines, model = Addition().train[:batch], GPT(GPTConfig.tiny())
    began = 0.0
    for step in range(10):
        if step == 2:  # the first two warm up
            dist.barrier()
            began = time.perf_counter()
        gradients = torch.autograd.grad(answer_loss(model, lines), list(model.parameters()))
        mean = torch.cat([gradient.flatten() for gradient in gradients]) / dist.get_world_size()
        dist.all_reduce(mean)
        weights = parameters_to_vector(model.parameters()).detach()
        vector_to_parameters(weights - 0.01 * mean, model.parameters())
    return (time.perf_counter() - began) / 8
