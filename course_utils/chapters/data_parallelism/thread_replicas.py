"""nn.DataParallel's steps by hand: in one process, a thread and a copy of the model a device."""

import copy
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn


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
