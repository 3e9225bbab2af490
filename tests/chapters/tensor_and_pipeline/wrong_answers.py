"""Wrong answers to chapter 14's exercises, each as a student might write it."""

import torch

from tests.chapters.tensor_and_pipeline import balance_answers
from tests.support.patches import changed


def by_autograd_of_all_ranks(x, shard, net):
    """Gathers the weights: right numbers, and tensor parallelism's point is lost."""
    up, up_bias, down = (net.all_gather(part) for part in (shard[0].T, shard[1], shard[2]))
    inputs = [w.clone().requires_grad_() for w in (x, up, up_bias, down, shard[3])]
    y = (inputs[0] @ inputs[1].T + inputs[2]).relu() @ inputs[3] + inputs[4]

    def backward(grad):
        grad_x, up, up_bias, down, down_bias = torch.autograd.grad(y, inputs, grad)
        own = [part.chunk(net.n)[net.rank] for part in (up, up_bias, down)]
        return grad_x, (own[0].T, *own[1:], down_bias)

    return y.detach(), backward


Y, GRAD_X, GRAD_BIAS = (
    "net.all_reduce(hidden @ down)",
    "net.all_reduce(grad_hidden @ up.T)",
    "grad.sum(0)\n",
)
BIAS_ON_ALL = {f"{Y} + down_bias": "net.all_reduce(hidden @ down + down_bias)"}
A_TERM = {GRAD_X: "grad_hidden @ up.T"}
BIAS_ADDED = {GRAD_BIAS: "net.all_reduce(grad.sum(0))\n"}
WRONG = {
    "shard.wrong_collective": [
        by_autograd_of_all_ranks,
        *changed(
            "shard.wrong_collective",
            as_it_stands=BIAS_ON_ALL | A_TERM | BIAS_ADDED,
            the_bias_on_every_rank=BIAS_ON_ALL,
            the_gradient_of_x_is_a_term=A_TERM,
            the_mean_of_the_terms={GRAD_X: f"{GRAD_X} / net.n"},
            the_bias_gradient_is_added_up=BIAS_ADDED,
            nobody_adds_up={Y: "hidden @ down"} | A_TERM,
            the_bias_gradient_is_a_mean_of_all={GRAD_BIAS: "net.all_reduce(grad.sum(0)) / net.n\n"},
            gathers_the_hidden={
                Y: "net.all_gather(hidden.T.contiguous()).T @ net.all_gather(down)"
            },
            no_gradient_of_the_bias={f", {GRAD_BIAS}": "\n"},
            rank_0_alone_adds_up={Y: f"(hidden @ down if net.rank else {Y})"},
        ),
    ],
    "shard.balance": balance_answers.WRONG,
}
