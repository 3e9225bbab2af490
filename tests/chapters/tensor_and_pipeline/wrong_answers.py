"""Wrong answers to chapter 14's exercises, each as a student might write it."""

import torch

from tests.support.patches import changed


def by_autograd_of_all_ranks(x, shard, net):
    """Gathers the weights: right numbers, but not tensor parallelism."""
    up, up_bias, down = (net.all_gather(part) for part in (shard[0].T, shard[1], shard[2]))
    inputs = [w.clone().requires_grad_() for w in (x, up, up_bias, down, shard[3])]
    y = (inputs[0] @ inputs[1].T + inputs[2]).relu() @ inputs[3] + inputs[4]

    def backward(grad):
        grad_x, up, up_bias, down, down_bias = torch.autograd.grad(y, inputs, grad)
        own = [part.chunk(net.n)[net.rank] for part in (up, up_bias, down)]
        return grad_x, (own[0].T, *own[1:], down_bias)

    return y.detach(), backward


def all_forwards_first(ranks, batches):
    both = [(kind, i) for kind in "FB" for i in range(batches)]
    return [[(rank, kind, i) for kind, i in both] for rank in range(ranks)]


def one_micro_batch_after_the_other(ranks, batches):
    both = [(kind, i) for i in range(batches) for kind in "FB"]
    return [[(rank, kind, i) for kind, i in both] for rank in range(ranks)]


def without_the_stage(ranks, batches):
    return [[action[1:] for action in order] for order in all_forwards_first(ranks, batches)]


def for_one_rank(ranks, batches):
    return one_micro_batch_after_the_other(1, batches)


def backwards_from_the_last(ranks, batches):
    orders = [[(r, "F", i) for i in range(batches)] for r in range(ranks)]
    return [[*order, *((r, "B", i) for _, _, i in order[::-1])] for r, order in enumerate(orders)]


def forwards_in_two_orders(ranks, batches):
    """Neighbours wait for each other's other micro-batch."""
    forwards = [list(range(batches))[:: 1 - 2 * (rank % 2)] for rank in range(ranks)]
    return [
        [(rank, kind, i) for i in order for kind in "FB"] for rank, order in enumerate(forwards)
    ]


Y, GRAD_X, GRAD_BIAS = (
    "net.all_reduce(hidden @ down)",
    "net.all_reduce(grad_hidden @ up.T)",
    "grad.sum(0)\n",
)
BIAS_ON_ALL = {f"{Y} + down_bias": "net.all_reduce(hidden @ down + down_bias)"}
A_TERM = {GRAD_X: "grad_hidden @ up.T"}
BIAS_ADDED = {GRAD_BIAS: "net.all_reduce(grad.sum(0))\n"}
AHEAD = "min(ranks - 1 - rank, batches)"
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
    "shard.one_f_one_b": [
        all_forwards_first,
        one_micro_batch_after_the_other,
        without_the_stage,
        for_one_rank,
        backwards_from_the_last,
        forwards_in_two_orders,
        *changed(
            "shard.one_f_one_b",
            one_forward_too_many={AHEAD: "min(ranks - rank, batches)"},
            one_forward_too_few={AHEAD: "min(max(ranks - 2 - rank, 0), batches)"},
            all_ranks_alike={AHEAD: "min(ranks - 1, batches)"},
            more_forwards_than_there_are={AHEAD: "ranks - 1 - rank"},
            no_backwards_at_the_end={
                '            order.append((rank, "B", i))': (
                    '                order.append((rank, "B", i))'
                )
            },
        ),
    ],
}
