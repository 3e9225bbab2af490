"""Wrong answers to chapter 13's exercises, each as a student might write it."""

import torch
from torch.nn import functional as F

from tests.support.patches import changed


def _padded(x, net):
    return F.pad(x, (0, -len(x) % net.n))


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


def an_optimizer_of_everything(weights, gradient, state, net):
    optimizer = state.setdefault("o", torch.optim.SGD([weights], lr=0.1, momentum=0.9))
    mean = net.all_gather(net.reduce_scatter(_padded(gradient, net)) / net.n)
    weights.grad = mean[: len(weights)]
    optimizer.step()


def all_reduces_and_cuts(unit, gradient, kept, net):
    mean = net.all_reduce(_padded(gradient, net)) / net.n
    kept[unit] = kept.get(unit, 0) + mean.chunk(net.n)[net.rank].clone()


def keeps_whole_gradients(unit, gradient, kept, net):
    """As stage 1 does: it would reduce them after the last micro-batch."""
    kept[unit] = kept.get(unit, 0) + gradient


KEEP = "kept[unit] = kept.get(unit, 0) + mean"
SHARD, BYTES = "-(-parameters // ranks)", "weights + gradients + optimizer"
SCATTER = "net.reduce_scatter(F.pad(gradient, zeros))"
OWN = "[size * net.rank :][:size]"
MOMENTUM = 'state["momentum"] = 0.9 * state.get("momentum", 0) + mean'
COPY = "weights.copy_(whole[: len(weights)])"
WRONG = {
    "shard.bytes": changed(
        "shard.bytes",
        everything_by_the_ranks={BYTES: "16 * parameters // (ranks if stage else 1)"},
        shards_rounded_down={SHARD: "parameters // ranks"},
        a_number_more_in_every_shard={SHARD: "parameters // ranks + 1"},
        no_padding={SHARD: "parameters / ranks"},
        bytes_rounded_up_instead_of_numbers={
            SHARD: "parameters / ranks",
            BYTES: f"-int(-({BYTES}) // 1)",
        },
        gradients_first={
            "gradients = 2 * (shard if stage >= 2": "gradients = 2 * (shard if stage >= 1",
            "12 * (shard if stage >= 1": "12 * (shard if stage >= 2",
        },
        a_stage_late={">= 3": "> 3", ">= 2": "> 2", ">= 1": "> 1"},
        gradients_of_fp32={"gradients = 2": "gradients = 4"},
        no_master_weights={"12 *": "8 *"},
    ),
    "shard.zero1": [
        plain_data_parallelism,
        gathers_the_gradient_too,
        gathers_the_update_by_all_reduce,
        an_optimizer_of_everything,
        *changed(
            "shard.zero1",
            all_reduce_of_the_gradient={
                SCATTER: f"F.pad(net.all_reduce(gradient), zeros){OWN}",
            },
            always_the_first_shard={OWN: "[:size]"},
            a_new_tensor={"size =": "weights = weights.clone()\n    size ="},
            for_lengths_that_divide={"size * net.n - len(weights))": "0)"},
            drops_the_rest={
                "size = -(-len(weights) // net.n)": "size = len(weights) // net.n\n"
                "    weights, gradient = (one[: size * net.n] for one in (weights, gradient))"
            },
            pads_in_front={"F.pad(gradient, zeros)": "F.pad(gradient, zeros[::-1])"},
            keeps_a_view_of_the_whole={
                MOMENTUM: f'state.setdefault("momentum", F.pad(0 * weights, zeros){OWN})\n'
                '    state["momentum"].mul_(0.9).add_(mean)'
            },
            keeps_the_gradient={COPY: f'{COPY}\n    state["gradient"] = gradient'},
            only_rank_0_updates={"size =": "if net.rank:\n        return\n    size ="},
        ),
    ],
    "shard.zero2": [
        all_reduces_and_cuts,
        keeps_whole_gradients,
        *changed(
            "shard.zero2",
            only_the_last_micro_batch={KEEP: "kept[unit] = mean"},
            only_the_first_micro_batch={KEEP: "kept.setdefault(unit, mean)"},
            a_sum_over_ranks={" / net.n": ""},
            one_shard_for_all_units={KEEP: 'kept["sum"] = kept.get("sum", 0) + mean'},
            for_lengths_that_divide={"(0, -len(gradient) % net.n)": "(0, 0)"},
            pads_in_front={"(0, -len": "(-len", "% net.n)": "% net.n, 0)"},
            keeps_the_gradient_too={KEEP: f"{KEEP}\n    kept['whole'] = gradient"},
            gathers_the_sum={KEEP: "kept[unit] = kept.get(unit, 0) + net.all_gather(mean)"},
        ),
    ],
}
