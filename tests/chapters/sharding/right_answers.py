"""Right answers to chapter 13's exercises, in other ways than the worked solutions."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from tests.chapters.sharding import balance_answers
from tests.chapters.sharding.wrong_answers import block_of


def a_table(parameters, ranks, stage):
    shard = math.ceil(parameters / ranks)
    whole, cut = {0: (16, 0), 1: (4, 12), 2: (2, 14), 3: (0, 16)}[stage]
    return whole * parameters + cut * shard


def a_padded_model(parameters, ranks, stage):
    padded = parameters + -parameters % ranks
    sharded = (0, 12, 14, 16)[stage]
    return (16 - sharded) * parameters + sharded * padded // ranks


def a_number_of_numpy(parameters, ranks, stage):
    return np.int64(a_table(parameters, ranks, stage))


def a_tensor_of_one_number(parameters, ranks, stage):
    return torch.tensor(a_table(parameters, ranks, stage))


def a_float(parameters, ranks, stage):
    return float(a_table(parameters, ranks, stage))


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


def an_array(weights, gradient, state, net):
    state["m"] = state.get("m", np.float32(0)) * np.float32(0.9) + _mean(gradient, net).numpy()
    own = _own(weights, net) - 0.1 * torch.from_numpy(state["m"])
    weights.copy_(net.all_gather(own)[: len(weights)])


def a_share_of_the_bias_on_each_rank(x, shard, net):
    up, up_bias, down, down_bias = shard
    _, backward = block_of(forward="none")(x, shard, net)
    hidden = F.relu(F.linear(x, up.T, up_bias))
    return net.all_reduce(hidden @ down + down_bias / net.n), backward


def the_bias_on_rank_0(x, shard, net):
    up, up_bias, down, down_bias = shard
    _, backward = block_of(forward="none")(x, shard, net)
    y = torch.addmm(down_bias * (net.rank == 0), (x @ up + up_bias).clamp(min=0), down)
    net.all_reduce(y)
    return y, backward


def by_autograd(x, shard, net):
    inputs = [w.clone().requires_grad_() for w in (x, *shard[:3])]
    term = (inputs[0] @ inputs[1] + inputs[2]).relu() @ inputs[3]
    y = net.all_reduce(term.detach().clone()) + shard[3]

    def backward(grad):
        grad_x, *gradients = torch.autograd.grad(term, inputs, grad)
        return [net.all_reduce(grad_x), [*gradients, grad.sum(0)]]

    return [y, backward]


def in_two_halves(x, shard, net):
    """An all_reduce is a reduce_scatter and an all_gather, where the rows divide."""
    up, up_bias, down, down_bias = shard
    _, backward = block_of(forward="none")(x, shard, net)
    term = ((x @ up + up_bias).relu() @ down).T.contiguous()
    return net.all_gather(net.reduce_scatter(term)).T + down_bias, backward


RIGHT = {
    "shard.bytes": [
        a_table, a_padded_model, a_number_of_numpy, a_tensor_of_one_number, a_float,
    ],
    "shard.zero1": [
        an_optimizer_of_the_shard, counts_its_steps, gathers_the_momentum,
        one_collective_by_parts, an_array,
    ],
    "shard.wrong_collective": [
        a_share_of_the_bias_on_each_rank, the_bias_on_rank_0, by_autograd, in_two_halves,
    ],
    "shard.balance": balance_answers.RIGHT,
}  # fmt: skip
