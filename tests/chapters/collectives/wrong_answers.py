"""Wrong answers to chapter 11's exercises, each as a student might write it."""

import torch

from course_utils.chapters.collectives.by_hand import naive_all_reduce
from tests.support.patches import by_name, changed


def everything_over_rank_0(x, net):
    parts = torch.empty(net.n, *x.shape)
    parts[net.rank] = x
    if net.rank == 0:
        for other in range(1, net.n):
            net.receive(parts[other], other)
        for other in range(1, net.n):
            net.send(parts, other)
    else:
        net.send(x, 0)
        net.receive(parts, 0)
    return list(parts)


def all_send_first(x, net):
    parts = [torch.empty_like(x) for _ in range(net.n)]
    others = [other for other in range(net.n) if other != net.rank]
    for other in others:
        net.send(x, other)
    for other in others:
        net.receive(parts[other], other)
    return [*parts[: net.rank], x, *parts[net.rank + 1 :]]


def ring(x, net, chunks, shares):
    right, left = (net.rank + 1) % net.n, (net.rank - 1) % net.n
    for step in range(net.n - 1):
        mine, theirs = chunks[(net.rank - step) % net.n], chunks[(net.rank - step - 1) % net.n]
        part = theirs.clone()
        net.exchange(mine, right, part, left)
        theirs += part
    for step in range(shares):
        mine, theirs = chunks[(net.rank + 1 - step) % net.n], chunks[(net.rank - step) % net.n]
        net.exchange(mine, right, theirs, left)


def whole_tensor_each_time(x, net):
    total, got = x.clone(), x.clone()
    for step in range(2 * (net.n - 1)):
        new = torch.empty_like(x)
        net.exchange(got, (net.rank + 1) % net.n, new, (net.rank - 1) % net.n)
        if step < net.n - 1:
            total += new
        got = new
    x.copy_(total)


def naive(x, net):
    naive_all_reduce(x, net)


def uses_exchange(x, net):
    got = torch.empty_like(x)
    net.exchange(x, (net.rank + 1) % net.n, got, (net.rank - 1) % net.n)
    return got


SPLIT = "x.tensor_split(net.n)"
LAST = "net.exchange(to_send, right, chunks[(net.rank - step) % net.n], left)"
SHARE = "net.n - 1):\n        to_send"
WRONG = {
    "collectives.all_gather": [
        everything_over_rank_0,
        all_send_first,
        *changed(
            "collectives.all_gather",
            in_order_of_arrival={
                "[x] * net.n": "[x]",
                "parts[(net.rank - step) % net.n]": "parts[-1]",
                "parts[(net.rank - step - 1) % net.n] = new": "parts.append(new)",
            },
            one_tensor_for_all={"torch.empty_like(x)": "x"},
            vectors_alone={"torch.empty_like(x)": "torch.empty(len(x))"},
            rotated={"return parts": "return parts[net.rank :] + parts[: net.rank]"},
            a_place_left_empty={"return parts": "parts[net.rank] = None\n    return parts"},
        ),
    ],
    "collectives.ring": [
        whole_tensor_each_time,
        naive,
        *changed(
            "collectives.ring",
            forgets_the_second_half={SHARE: "0):\n        to_send"},
            stops_one_step_early={SHARE: "net.n - 2):\n        to_send"},
            drops_the_rest={SPLIT: f"x[: len(x) // net.n * net.n]{SPLIT[1:]}"},
            chunks_are_copies={SPLIT: f"[chunk.clone() for chunk in {SPLIT}]"},
            ends_in_nan={LAST: f"{LAST}\n    x[-1] = math.nan"},
            the_mean={LAST: f"{LAST}\n    x /= net.n"},
            chunks_of_torch_chunk={SPLIT: "x.chunk(net.n)"},
            padded={
                f"chunks = {SPLIT}": "whole = torch.cat([x, torch.zeros(-len(x) % net.n)])\n"
                "    chunks = whole.tensor_split(net.n)",
                LAST: f"{LAST}\n    x.copy_(whole[: len(x)])",
            },
            for_lengths_that_divide={SPLIT: "x.view(net.n, -1)"},
        ),
    ],
    "collectives.shift": [
        uses_exchange,
        *changed(
            "collectives.shift",
            everyone_sends_first={"net.rank % 2": "False"},
            everyone_receives_first={"net.rank % 2": "True"},
            to_the_left={
                "right, left = (net.rank + 1) % net.n, (net.rank - 1)": "right, left = "
                "(net.rank - 1) % net.n, (net.rank + 1)"
            },
            a_buffer_for_a_vector={"torch.empty_like(x)": "torch.empty(len(x))"},
            returns_nothing={"return got": "got.clone()"},
        ),
    ],
}
__getattr__ = by_name(WRONG)
