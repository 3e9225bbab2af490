"""Right answers to chapter 11's exercises, in other ways than the worked solutions."""

import torch

from tests.chapters.collectives.wrong_answers import LAST, SPLIT, ring
from tests.support.patches import changed


def from_everyone_directly(x, net):
    parts = [x] * net.n
    for distance in range(1, net.n):
        source = (net.rank - distance) % net.n
        parts[source] = torch.empty_like(x)
        net.exchange(x, (net.rank + distance) % net.n, parts[source], source)
    return torch.stack(parts)


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


RIGHT = {
    "collectives.all_gather": [
        from_everyone_directly,
        pair_after_pair,
        *changed(
            "collectives.all_gather",
            in_double_precision={"return parts": "return [one.double() for one in parts]"},
        ),
    ],
    "collectives.ring": [
        to_the_left,
        the_last_chunk_takes_the_rest,
        *changed(
            "collectives.ring",
            copies_and_copies_back={
                SPLIT: f"[chunk.clone() for chunk in {SPLIT}]",
                LAST: f"{LAST}\n    x.copy_(torch.cat(chunks))",
            },
        ),
    ],
    "collectives.shift": changed(
        "collectives.shift",
        rank_0_begins={"net.rank % 2": "net.rank"},
        rank_0_ends={"net.rank % 2": "net.rank == 0"},
        half_of_the_ranks_begin={"net.rank % 2": "net.rank >= net.n // 2"},
    ),
}
