"""Chapter 13's exercises on ZeRO-1 and ZeRO-2: steps on several ranks, against one device's."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.chapters.sharding.counted_net import CountedNet, play, ring_bytes
from course_utils.lesson.answers import compare
from course_utils.lesson.exercises import Wrong

STEPS, RATE, MOMENTUM = 3, 0.1, 0.9


def judge(step: Callable[..., Any], n: int, numbers: int) -> None:
    """Runs three steps on `n` ranks with so many weights. Raises: Wrong for what isn't right."""
    begin, gradients = torch.randn(numbers), torch.randn(STEPS, n, numbers)
    wanted = alone(begin, gradients.mean(1))

    def work(net: CountedNet) -> list[Any]:
        weights, state, after = begin.clone(), dict[str, Any](), []
        for mine in gradients:
            net.reset()
            step(weights, mine[net.rank].clone(), state, net)
            after.append((weights.clone(), kept_bytes(state), net.sent_bytes, net.calls))
        return after

    for rank, steps in enumerate(play(n, work)):
        before = begin
        for place, (weights, kept, sent, calls) in enumerate(steps):
            case = f"{n} ranks, {numbers} weights, step {place + 1}, rank {rank}: "
            _require_weights(case, weights, wanted[place], before)
            before = weights
            case = f"{n} ranks, {numbers} weights: rank {rank} "
            _require_little(case, kept, sent, ", ".join(calls), n, numbers)


def alone(begin: Tensor, gradients: Tensor) -> list[Tensor]:
    """Returns the weights after each step on one device, by torch's own SGD."""
    weights, after = begin.clone().requires_grad_(), []
    optimizer = torch.optim.SGD([weights], lr=RATE, momentum=MOMENTUM)
    for gradient in gradients:
        weights.grad = gradient
        optimizer.step()
        after.append(weights.detach().clone())
    return after


def judge_ready(ready: Callable[..., Any], n: int, sizes: Mapping[str, int], steps: int) -> None:
    """Runs `steps` micro-batches on `n` ranks, units of `sizes`. Raises: Wrong for a mistake."""
    given = {unit: torch.randn(steps, n, size) for unit, size in sizes.items()}
    where = f"{n} ranks, units of {', '.join(map(str, sizes.values()))}: "

    def work(net: CountedNet) -> Any:
        kept, whole = dict[Any, Any](), sum(4 * math.ceil(size / n) for size in sizes.values())
        for step in range(steps):
            for unit, size in sizes.items():
                net.reset()
                ready(unit, given[unit][step, net.rank].clone(), kept, net)
                sent, most = net.sent_bytes, ring_bytes(size, n)
                if sent > most:
                    calls = ", ".join(net.calls)
                    want = f"want {most}, one reduce_scatter"
                    raise Wrong(f"{where}a call sends {sent} bytes ({calls}), {want}")
                if (held := kept_bytes(kept)) > whole:
                    want = f"want {whole}, a shard of each; a view counts as what it looks at"
                    raise Wrong(f"{where}after a call `kept` holds {held} bytes, {want}")
        return kept

    for rank, kept in enumerate(play(n, work)):
        for unit, gradients in given.items():
            mean = torch.nn.functional.pad(gradients.mean(1).sum(0), (0, -sizes[unit] % n))
            if unit not in kept:
                raise Wrong(f"{where}rank {rank} has no kept[{unit!r}]; it has {[*kept]}")
            case = f"{where}rank {rank}, after {steps} micro-batches: kept[{unit!r}]"
            compare(kept[unit], mean.chunk(n)[rank], case, 1e-5, 1e-5)


def kept_bytes(state: Any) -> int:
    """Returns the bytes of a state's tensors and arrays; a view counts as all that it keeps alive.

    A single number is free. Containers and torch's optimizers are looked into.
    """
    found = list(_tensors(state))
    return sum({s.data_ptr(): s.nbytes() for s in map(Tensor.untyped_storage, found)}.values())


def _tensors(state: Any) -> list[Tensor]:
    if isinstance(state, torch.optim.Optimizer):
        return _tensors(list(state.state.values()))
    if isinstance(state, Mapping):
        return _tensors(list(state.values()))
    if isinstance(state, list | tuple | set):
        if state and all(isinstance(one, int | float) for one in state):
            return [torch.tensor(list(state))]
        return [x for one in state for x in _tensors(one)]
    if isinstance(state, np.ndarray):
        state = torch.from_numpy(state if state.base is None else np.asarray(state.base))
    return [state] if isinstance(state, Tensor) and state.numel() > 1 else []


def _require_weights(case: str, got: Tensor, want: Tensor, before: Tensor) -> None:
    def why() -> str:
        if torch.equal(got, before):
            return ": the weights of before; write into them, weights.copy_(…)"
        return ", as one device with the mean gradient has"

    compare(got, want, f"{case}the weights", 1e-5, 1e-5, why)


def _require_little(case: str, kept: int, sent: int, calls: str, n: int, numbers: int) -> None:
    """No more bytes than one reduce_scatter and one all_gather, no larger state than a shard."""
    most, shard = ring_bytes(numbers, n, times=2), 4 * math.ceil(numbers / n)
    if sent > most:
        sends = f"sends {sent} bytes in a step ({calls})"
        raise Wrong(f"{case}{sends}, want {most}: no more than an all_reduce of the gradient")
    if kept > shard and numbers > 1:
        keeps = f"keeps {kept} bytes in state between steps"
        raise Wrong(f"{case}{keeps}, want its shard's {shard}; a view counts as what it looks at")
