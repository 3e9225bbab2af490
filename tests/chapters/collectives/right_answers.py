"""Right answers to chapter 11's exercises, in other ways than the worked solutions."""

import math

import numpy as np
import torch

from tests.chapters.collectives.wrong_answers import ring


def _gathered(x, net):
    """From everyone directly, at each distance."""
    parts = [x] * net.n
    for distance in range(1, net.n):
        source = (net.rank - distance) % net.n
        parts[source] = torch.empty_like(x)
        net.exchange(x, (net.rank + distance) % net.n, parts[source], source)
    return parts


def stacked(x, net):
    return torch.stack(_gathered(x, net))


def one_by_one(x, net):
    yield from _gathered(x, net)


def values_of_a_dict(x, net):
    return dict(enumerate(_gathered(x, net))).values()


def arrays(x, net):
    return [part.numpy() for part in _gathered(x, net)]


def lists_of_numbers(x, net):
    return [part.tolist() for part in _gathered(x, net)]


def in_double_precision(x, net):
    return [part.double().requires_grad_() for part in _gathered(x, net)]


def pair_after_pair(x, net):
    parts = [x] * net.n
    for source in range(net.n):
        for to in range(net.n):
            if net.rank == source != to:
                net.send(x, to)
            elif net.rank == to != source:
                parts[source] = torch.empty_like(x)
                net.receive(parts[source], source)
    return parts


def to_the_left(x, net):
    chunks, left, right = x.tensor_split(net.n), (net.rank - 1) % net.n, (net.rank + 1) % net.n
    for step in range(net.n - 1):
        theirs = chunks[(net.rank + step + 1) % net.n]
        part = torch.empty_like(theirs)
        net.exchange(chunks[(net.rank + step) % net.n], left, part, right)
        theirs += part
    for step in range(net.n - 1):
        mine = chunks[(net.rank - 1 + step) % net.n]
        net.exchange(mine, left, chunks[(net.rank + step) % net.n], right)


def the_last_chunk_takes_the_rest(x, net):
    size = len(x) // net.n
    begins = [size * place for place in range(net.n)]
    ring(x, net, [x[a:b] for a, b in zip(begins, [*begins[1:], None], strict=True)], net.n - 1)


def copies_and_copies_back(x, net):
    chunks = [chunk.clone() for chunk in x.tensor_split(net.n)]
    ring(x, net, chunks, net.n - 1)
    x.copy_(torch.cat(chunks))


def _shifted(x, net, sends_first):
    got, right, left = torch.empty_like(x), (net.rank + 1) % net.n, (net.rank - 1) % net.n
    if sends_first:
        net.send(x, right)
    net.receive(got, left)
    if not sends_first:
        net.send(x, right)
    return got


def rank_0_begins(x, net):
    return _shifted(x, net, net.rank == 0)


def rank_0_ends(x, net):
    return _shifted(x, net, net.rank != 0)


def half_of_the_ranks_begin(x, net):
    return _shifted(x, net, net.rank < net.n // 2)


def as_an_array(x, net):
    return _shifted(x, net, net.rank % 2).numpy()


def as_a_list(x, net):
    return _shifted(x, net, net.rank % 2).tolist()


def _quicker(alpha, beta, n, n_bytes):
    levels = next(k for k in range(99) if 2**k >= n)
    return (n - 1) * (alpha + beta * n_bytes / n) < levels * (alpha + beta * n_bytes)


def half_of_the_steps(alpha, beta, n, n_bytes):
    return "ring" if _quicker(alpha, beta, n, n_bytes) else "tree"


def where_of_numpy(alpha, beta, n, n_bytes):
    return np.where(_quicker(alpha, beta, n, n_bytes), "ring", "tree")


def a_text_of_numpy(alpha, beta, n, n_bytes):
    return np.array(["tree", "ring"])[int(_quicker(alpha, beta, n, n_bytes))]


def by_the_crossing_size(alpha, beta, n, n_bytes):
    levels = math.ceil(math.log2(n))
    return "tree" if beta * n_bytes * (levels - 1 + 1 / n) < alpha * (n - 1 - levels) else "ring"


RIGHT = {
    "collectives.all_gather": [
        stacked, one_by_one, values_of_a_dict, arrays, lists_of_numbers, in_double_precision,
        pair_after_pair,
    ],
    "collectives.ring": [to_the_left, the_last_chunk_takes_the_rest, copies_and_copies_back],
    "collectives.shift": [
        rank_0_begins, rank_0_ends, half_of_the_ranks_begin, as_an_array, as_a_list,
    ],
    "collectives.choose": [
        half_of_the_steps, where_of_numpy, a_text_of_numpy, by_the_crossing_size,
    ],
}  # fmt: skip
