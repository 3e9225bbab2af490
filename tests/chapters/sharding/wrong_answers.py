"""Wrong answers to chapter 13's exercises, each as a student might write it."""

import torch
from torch.nn import functional as F

from tests.chapters.sharding import balance_answers


def _bytes(parameters, shard, stage, first=(3, 2, 1), each=(2, 2, 12)):
    sizes = (shard if stage >= least else parameters for least in first)
    return sum(n_bytes * size for n_bytes, size in zip(each, sizes, strict=True))


def everything_by_the_ranks(parameters, ranks, stage):
    return 16 * parameters // ranks if stage else 16 * parameters


def shards_rounded_down(parameters, ranks, stage):
    return _bytes(parameters, parameters // ranks, stage)


def a_number_more_in_every_shard(parameters, ranks, stage):
    return _bytes(parameters, parameters // ranks + 1, stage)


def no_padding(parameters, ranks, stage):
    return _bytes(parameters, parameters / ranks, stage)


def bytes_rounded_up_instead_of_numbers(parameters, ranks, stage):
    sharded = {0: 0, 1: 12, 2: 14, 3: 16}[stage]
    return (16 - sharded) * parameters - (-sharded * parameters // ranks)


def gradients_first(parameters, ranks, stage):
    return _bytes(parameters, -(-parameters // ranks), stage, first=(3, 1, 2))


def a_stage_late(parameters, ranks, stage):
    return _bytes(parameters, -(-parameters // ranks), stage, first=(4, 3, 2))


def gradients_of_fp32(parameters, ranks, stage):
    return _bytes(parameters, -(-parameters // ranks), stage, each=(2, 4, 12))


def no_master_weights(parameters, ranks, stage):
    return _bytes(parameters, -(-parameters // ranks), stage, each=(2, 2, 8))


def _padded(x, net):
    return F.pad(x, (0, -len(x) % net.n))


def _own(x, net):
    return _padded(x, net).chunk(net.n)[net.rank]


def _step(weights, gradient, state, net, scale=None, momentum=0.9, shard=_own):
    mean = net.reduce_scatter(_padded(gradient, net)) * (1 / net.n if scale is None else scale)
    state["m"] = momentum * state.get("m", 0) + mean
    new = net.all_gather(shard(weights, net) - 0.1 * state["m"])
    weights.copy_(new[: len(weights)])


def all_reduce_of_the_gradient(weights, gradient, state, net):
    """As DDP does it, but for the state: right numbers, half as many bytes again."""
    net.all_reduce(gradient)
    state["m"] = 0.9 * state.get("m", 0) + _own(gradient, net) / net.n
    weights.copy_(net.all_gather(_own(weights, net) - 0.1 * state["m"])[: len(weights)])


def plain_data_parallelism(weights, gradient, state, net):
    net.all_reduce(gradient)
    state["m"] = 0.9 * state.get("m", 0) + gradient / net.n
    weights -= 0.1 * state["m"]


def gathers_the_gradient_too(weights, gradient, state, net):
    """Updates every weight on every rank: no bytes saved."""
    mean = net.all_gather(net.reduce_scatter(_padded(gradient, net)))[: len(weights)] / net.n
    state["m"] = 0.9 * state.get("m", 0) + mean
    weights -= 0.1 * state["m"]


def gathers_the_update_by_all_reduce(weights, gradient, state, net):
    state["m"] = 0.9 * state.get("m", 0) + net.reduce_scatter(_padded(gradient, net)) / net.n
    update = torch.zeros(net.n, len(state["m"]))
    update[net.rank] = state["m"]
    weights -= 0.1 * net.all_reduce(update).flatten()[: len(weights)]


def adds_up_without_the_mean(weights, gradient, state, net):
    _step(weights, gradient, state, net, scale=1)


def forgets_the_momentum(weights, gradient, state, net):
    _step(weights, gradient, state, net, momentum=0)


def always_the_first_shard(weights, gradient, state, net):
    _step(weights, gradient, state, net, shard=lambda x, net: _padded(x, net).chunk(net.n)[0])


def a_new_tensor(weights, gradient, state, net):
    _step(weights.clone(), gradient, state, net)


def for_lengths_that_divide(weights, gradient, state, net):
    state["m"] = 0.9 * state.get("m", 0) + net.reduce_scatter(gradient) / net.n
    weights.copy_(net.all_gather(weights.chunk(net.n)[net.rank] - 0.1 * state["m"]))


def drops_the_rest(weights, gradient, state, net):
    fit = len(weights) // net.n * net.n
    if fit:
        for_lengths_that_divide(weights[:fit], gradient[:fit], state, net)


def pads_in_front(weights, gradient, state, net):
    mean = net.reduce_scatter(F.pad(gradient, (-len(gradient) % net.n, 0))) / net.n
    state["m"] = 0.9 * state.get("m", 0) + mean
    weights.copy_(net.all_gather(_own(weights, net) - 0.1 * state["m"])[: len(weights)])


def keeps_a_view_of_the_whole(weights, gradient, state, net):
    own = state.setdefault("m", _own(torch.zeros_like(weights), net))
    own.mul_(0.9).add_(net.reduce_scatter(_padded(gradient, net)) / net.n)
    weights.copy_(net.all_gather(_own(weights, net) - 0.1 * own)[: len(weights)])


def keeps_the_gradient(weights, gradient, state, net):
    _step(weights, gradient, state, net)
    state["gradient"] = gradient


def an_optimizer_of_everything(weights, gradient, state, net):
    optimizer = state.setdefault("o", torch.optim.SGD([weights], lr=0.1, momentum=0.9))
    mean = net.all_gather(net.reduce_scatter(_padded(gradient, net)) / net.n)
    weights.grad = mean[: len(weights)]
    optimizer.step()


def only_rank_0_updates(weights, gradient, state, net):
    if net.rank == 0:
        _step(weights, gradient, state, net)


def block_of(
    bias="after", entry="sum", bias_sum=False, forward="sum", columns=lambda g, h: g * (h > 0),
):  # fmt: skip
    """The block with one thing done in another way."""

    def block(x, shard, net):
        up, up_bias, down, down_bias = shard
        hidden = (x @ up + up_bias).relu()
        y = hidden @ down + (down_bias if bias == "before" else 0)
        y = net.all_reduce(y) if forward == "sum" else y
        y = y + (down_bias if bias == "after" else 0)

        def backward(grad):
            grad_hidden = columns(grad @ down.T, hidden)
            grad_x = grad_hidden @ up.T
            if entry == "sum":
                net.all_reduce(grad_x)
            elif entry == "mean":
                grad_x = net.all_reduce(grad_x) / net.n
            grad_bias = net.all_reduce(grad.sum(0)) if bias_sum else grad.sum(0)
            gradients = x.T @ grad_hidden, grad_hidden.sum(0), hidden.T @ grad, grad_bias
            return grad_x, gradients

        return y, backward

    return block


def as_it_stands(x, shard, net):
    return block_of(bias="before", entry="none", bias_sum=True)(x, shard, net)


def the_bias_on_every_rank(x, shard, net):
    return block_of(bias="before")(x, shard, net)


def no_bias(x, shard, net):
    return block_of(bias="none")(x, shard, net)


def the_gradient_of_x_is_a_term(x, shard, net):
    return block_of(entry="none")(x, shard, net)


def the_mean_of_the_terms(x, shard, net):
    return block_of(entry="mean")(x, shard, net)


def the_bias_gradient_is_added_up(x, shard, net):
    return block_of(bias_sum=True)(x, shard, net)


def nobody_adds_up(x, shard, net):
    return block_of(forward="none", entry="none")(x, shard, net)


def an_activation_is_forgotten(x, shard, net):
    return block_of(columns=lambda g, hidden: g)(x, shard, net)


def the_bias_gradient_is_a_mean_of_all(x, shard, net):
    """Right numbers, and a message that nobody needs."""
    y, backward = block_of()(x, shard, net)

    def with_a_mean(grad):
        grad_x, (*others, grad_bias) = backward(grad)
        return grad_x, (*others, net.all_reduce(grad_bias) / net.n)

    return y, with_a_mean


def gathers_the_hidden(x, shard, net):
    """The activations of all columns travel, though a sum of y would do."""
    up, up_bias, down, down_bias = shard
    columns = net.all_gather((x @ up + up_bias).relu().T.contiguous())
    _, backward = block_of(forward="none")(x, shard, net)
    return columns.T @ net.all_gather(down) + down_bias, backward


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


def the_output_alone(x, shard, net):
    return block_of()(x, shard, net)[0]


def no_gradient_of_the_bias(x, shard, net):
    y, backward = block_of()(x, shard, net)

    def without(grad):
        grad_x, gradients = backward(grad)
        return grad_x, gradients[:3]

    return y, without


def rank_0_alone_adds_up(x, shard, net):
    return block_of(forward="none" if net.rank else "sum")(x, shard, net)


WRONG = {
    "shard.bytes": [
        everything_by_the_ranks, shards_rounded_down, a_number_more_in_every_shard, no_padding,
        bytes_rounded_up_instead_of_numbers, gradients_first, a_stage_late, gradients_of_fp32,
        no_master_weights,
    ],
    "shard.zero1": [
        all_reduce_of_the_gradient, plain_data_parallelism, gathers_the_gradient_too,
        gathers_the_update_by_all_reduce, adds_up_without_the_mean, forgets_the_momentum,
        always_the_first_shard, a_new_tensor, for_lengths_that_divide, drops_the_rest,
        pads_in_front, keeps_a_view_of_the_whole, keeps_the_gradient, an_optimizer_of_everything,
        only_rank_0_updates,
    ],
    "shard.wrong_collective": [
        as_it_stands, the_bias_on_every_rank, no_bias, the_gradient_of_x_is_a_term,
        the_mean_of_the_terms, the_bias_gradient_is_added_up, nobody_adds_up,
        an_activation_is_forgotten, the_bias_gradient_is_a_mean_of_all, gathers_the_hidden,
        by_autograd_of_all_ranks, the_output_alone, no_gradient_of_the_bias, rank_0_alone_adds_up,
    ],
    "shard.balance": balance_answers.WRONG,
}  # fmt: skip
