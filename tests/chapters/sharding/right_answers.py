"""Right answers to chapter 13's exercises, in other ways than the worked solutions."""

import math

import torch
from torch.nn import functional as F


def a_table(parameters, ranks, stage):
    shard = math.ceil(parameters / ranks)
    whole, cut = {0: (16, 0), 1: (4, 12), 2: (2, 14), 3: (0, 16)}[stage]
    return whole * parameters + cut * shard


def a_padded_model(parameters, ranks, stage):
    padded = parameters + -parameters % ranks
    sharded = (0, 12, 14, 16)[stage]
    return (16 - sharded) * parameters + sharded * padded // ranks


def _own(x, net):
    return F.pad(x, (0, -len(x) % net.n)).chunk(net.n)[net.rank]


def _mean(gradient, net):
    return net.reduce_scatter(F.pad(gradient, (0, -len(gradient) % net.n)) / net.n)


def an_optimizer_of_the_shard(weights, gradient, state, net):
    shard = _own(weights, net).clone()
    if not state:
        state["optimizer"] = torch.optim.SGD([shard], lr=0.1, momentum=0.9)
    (kept,) = state["optimizer"].param_groups[0]["params"]
    kept.data.copy_(shard)
    kept.grad = _mean(gradient, net)
    state["optimizer"].step()
    weights.copy_(net.all_gather(kept.detach())[: len(weights)])


def counts_its_steps(weights, gradient, state, net):
    state["t"] = torch.tensor(float(state.get("t", 0) + 1))
    state["m"] = state.get("m", 0) * 0.9 + _mean(gradient, net)
    weights[:] = net.all_gather(_own(weights, net) - state["m"] * 0.1)[: len(weights)]


def gathers_the_momentum(weights, gradient, state, net):
    """Moves the moments instead of the weights: as many bytes."""
    state["m"] = state.get("m", 0) * 0.9 + _mean(gradient, net)
    weights -= 0.1 * net.all_gather(state["m"])[: len(weights)]


def one_collective_by_parts(weights, gradient, state, net):
    """In two halves, as buckets are."""
    size = -(-len(weights) // (2 * net.n)) * net.n
    for place in range(2 if len(weights) % (2 * net.n) == 0 else 1):
        whole = len(weights) % (2 * net.n) != 0
        part = slice(None) if whole else slice(place * size, (place + 1) * size)
        key = f"m{place}"
        state[key] = state.get(key, 0) * 0.9 + _mean(gradient[part], net)
        own = _own(weights[part], net) - 0.1 * state[key]
        weights[part] = net.all_gather(own)[: len(weights[part])]


def adds_in_place(unit, gradient, kept, net):
    shard = _mean(gradient, net)
    kept.setdefault(unit, torch.zeros_like(shard)).add_(shard)


def pads_by_hand(unit, gradient, kept, net):
    whole = torch.zeros(math.ceil(len(gradient) / net.n) * net.n)
    whole[: len(gradient)] = gradient
    shard = net.reduce_scatter(whole).div_(net.n)
    kept[unit] = kept[unit] + shard if unit in kept else shard


RIGHT = {
    "shard.bytes": [a_table, a_padded_model],
    "shard.zero1": [
        an_optimizer_of_the_shard,
        counts_its_steps,
        gathers_the_momentum,
        one_collective_by_parts,
    ],
    "shard.zero2": [adds_in_place, pads_by_hand],
}
