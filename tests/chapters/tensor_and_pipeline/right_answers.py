"""Right answers to chapter 14's exercises, in other ways than the worked solutions."""

import torch

from tests.chapters.tensor_and_pipeline.wrong_answers import Y
from tests.support.patches import changed


def by_autograd(x, shard, net):
    inputs = [w.clone().requires_grad_() for w in (x, *shard[:3])]
    term = (inputs[0] @ inputs[1] + inputs[2]).relu() @ inputs[3]
    y = net.all_reduce(term.detach().clone()) + shard[3]

    def backward(grad):
        grad_x, *gradients = torch.autograd.grad(term, inputs, grad)
        return [net.all_reduce(grad_x), [*gradients, grad.sum(0)]]

    return [y, backward]


def in_three_phases(ranks, batches):
    orders = []
    for rank in range(ranks):
        warm = min(ranks - rank, batches)
        forwards = [[rank, "F", i] for i in range(batches)]
        backwards = [[rank, "B", i] for i in range(batches)]
        steady = [x for pair in zip(backwards, forwards[warm:], strict=False) for x in pair]
        orders.append((*forwards[:warm], *steady, *backwards[batches - warm :]))
    return orders


RIGHT = {
    "shard.wrong_collective": [
        by_autograd,
        *changed(
            "shard.wrong_collective",
            a_share_of_the_bias_on_each_rank={
                f"{Y} + down_bias": "net.all_reduce(hidden @ down + down_bias / net.n)"
            },
            the_bias_on_rank_0={
                f"{Y} + down_bias": "net.all_reduce(hidden @ down + down_bias * (net.rank == 0))"
            },
            in_two_halves={
                Y: "net.all_gather(net.reduce_scatter((hidden @ down).T.contiguous())).T"
            },
        ),
    ],
    "shard.one_f_one_b": [in_three_phases],
}
