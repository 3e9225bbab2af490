"""Wrong answers to chapter 11's exercises, each as a student might write it."""

import math

import torch


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


def in_order_of_arrival(x, net):
    parts, got = [x], x
    for _ in range(net.n - 1):
        new = torch.empty_like(x)
        net.exchange(got, (net.rank + 1) % net.n, new, (net.rank - 1) % net.n)
        parts.append(new)
        got = new
    return parts


def all_send_first(x, net):
    parts = [x] * net.n
    for other in range(net.n):
        if other != net.rank:
            net.send(x, other)
    for other in range(net.n):
        if other != net.rank:
            parts[other] = torch.empty_like(x)
            net.receive(parts[other], other)
    return parts


def one_tensor_for_all(x, net):
    got, parts = x, [None] * net.n
    parts[net.rank] = x
    for step in range(net.n - 1):
        net.exchange(got, (net.rank + 1) % net.n, got, (net.rank - 1) % net.n)
        parts[(net.rank - 1 - step) % net.n] = got
    return parts


def _filled(x, net, buffer):
    """What goes round a ring, each time received into a new buffer."""
    parts, got = [x] * net.n, x
    for step in range(net.n - 1):
        new = buffer()
        net.exchange(got, (net.rank + 1) % net.n, new, (net.rank - 1) % net.n)
        parts[(net.rank - 1 - step) % net.n] = got = new
    return parts


def vectors_alone(x, net):
    return _filled(x, net, lambda: torch.empty(len(x)))


def rotated(x, net):
    parts = _filled(x, net, lambda: torch.empty_like(x))
    return parts[net.rank :] + parts[: net.rank]


def a_place_left_empty(x, net):
    parts = _filled(x, net, lambda: torch.empty_like(x))
    return [None if place == net.rank else part for place, part in enumerate(parts)]


def gathers_nan(x, net):
    return [part * math.nan for part in _filled(x, net, lambda: torch.empty_like(x))]


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


def forgets_the_second_half(x, net):
    ring(x, net, x.tensor_split(net.n), 0)


def stops_one_step_early(x, net):
    ring(x, net, x.tensor_split(net.n), net.n - 2)


def drops_the_rest(x, net):
    size = len(x) // net.n
    ring(x, net, [x[i * size : (i + 1) * size] for i in range(net.n)], net.n - 1)


def whole_tensor_each_time(x, net):
    total, got = x.clone(), x.clone()
    for step in range(2 * (net.n - 1)):
        new = torch.empty_like(x)
        net.exchange(got, (net.rank + 1) % net.n, new, (net.rank - 1) % net.n)
        if step < net.n - 1:
            total += new
        got = new
    x.copy_(total)


def chunks_are_copies(x, net):
    ring(x, net, [chunk.clone() for chunk in x.tensor_split(net.n)], net.n - 1)


def ends_in_nan(x, net):
    ring(x, net, x.tensor_split(net.n), net.n - 1)
    x[-1] = math.nan


def the_mean(x, net):
    ring(x, net, x.tensor_split(net.n), net.n - 1)
    x /= net.n


def chunks_of_torch_chunk(x, net):
    ring(x, net, x.chunk(net.n), net.n - 1)


def for_lengths_that_divide(x, net):
    """The chapter's own."""
    ring(x, net, x.view(net.n, -1), net.n - 1)


def padded(x, net):
    whole = torch.cat([x, torch.zeros(-len(x) % net.n)])
    ring(whole, net, whole.tensor_split(net.n), net.n - 1)
    x.copy_(whole[: len(x)])


def naive(x, net):
    from course_utils.chapters.collectives.by_hand import naive_all_reduce

    naive_all_reduce(x, net)


def everyone_sends_first(x, net):
    got = torch.empty_like(x)
    net.send(x, (net.rank + 1) % net.n)
    net.receive(got, (net.rank - 1) % net.n)
    return got


def everyone_receives_first(x, net):
    got = torch.empty_like(x)
    net.receive(got, (net.rank - 1) % net.n)
    net.send(x, (net.rank + 1) % net.n)
    return got


def to_the_left(x, net):
    got = torch.empty_like(x)
    left, right = (net.rank - 1) % net.n, (net.rank + 1) % net.n
    if net.rank:
        net.send(x, left)
        net.receive(got, right)
    else:
        net.receive(got, right)
        net.send(x, left)
    return got


def uses_exchange(x, net):
    got = torch.empty_like(x)
    net.exchange(x, (net.rank + 1) % net.n, got, (net.rank - 1) % net.n)
    return got


def _by_turns(x, net, got):
    right, left = (net.rank + 1) % net.n, (net.rank - 1) % net.n
    if net.rank % 2:
        net.receive(got, left)
        net.send(x, right)
    else:
        net.send(x, right)
        net.receive(got, left)
    return got


def receives_over_what_it_sends(x, net):
    return _by_turns(x, net, x)


def a_buffer_for_a_vector(x, net):
    return _by_turns(x, net, torch.empty(len(x)))


def receives_nan(x, net):
    return math.nan * _by_turns(x, net, torch.empty_like(x))


def returns_nothing(x, net):
    _by_turns(x, net, torch.empty_like(x))


def always_ring(alpha, beta, n, n_bytes):
    return "ring"


def by_size_alone(alpha, beta, n, n_bytes):
    return "ring" if n_bytes > 1_000_000 else "tree"


def counts_bytes_alone(alpha, beta, n, n_bytes):
    return "ring" if 2 * (n - 1) / n < math.ceil(math.log2(n)) else "tree"


def whole_tensor_in_each_ring_step(alpha, beta, n, n_bytes):
    ring = 2 * (n - 1) * (alpha + beta * n_bytes)
    return "ring" if ring < 2 * math.ceil(math.log2(n)) * (alpha + beta * n_bytes) else "tree"


def _by_times(ring_steps, tree_steps, alpha, beta, n, n_bytes):
    tree = tree_steps * (alpha + beta * n_bytes)
    return "ring" if ring_steps * (alpha + beta * n_bytes / n) < tree else "tree"


def levels_rounded(alpha, beta, n, n_bytes):
    return _by_times(n - 1, round(math.log2(n)), alpha, beta, n, n_bytes)


def levels_rounded_down(alpha, beta, n, n_bytes):
    return _by_times(n - 1, math.floor(math.log2(n)), alpha, beta, n, n_bytes)


def levels_not_rounded(alpha, beta, n, n_bytes):
    return _by_times(n - 1, math.log2(n), alpha, beta, n, n_bytes)


def natural_logarithm(alpha, beta, n, n_bytes):
    return _by_times(n - 1, math.ceil(math.log(n)), alpha, beta, n, n_bytes)


def bits_of_n(alpha, beta, n, n_bytes):
    return _by_times(n - 1, n.bit_length(), alpha, beta, n, n_bytes)


def a_ring_of_n_steps(alpha, beta, n, n_bytes):
    return _by_times(n, math.ceil(math.log2(n)), alpha, beta, n, n_bytes)


def neither(alpha, beta, n, n_bytes):
    return math.nan


WRONG = {
    "collectives.all_gather": [
        everything_over_rank_0, in_order_of_arrival, all_send_first, one_tensor_for_all,
        vectors_alone, rotated, a_place_left_empty, gathers_nan,
    ],
    "collectives.ring": [
        forgets_the_second_half, stops_one_step_early, drops_the_rest, whole_tensor_each_time,
        chunks_are_copies, naive, ends_in_nan, the_mean, chunks_of_torch_chunk, padded,
        for_lengths_that_divide,
    ],
    "collectives.shift": [
        everyone_sends_first, everyone_receives_first, to_the_left, uses_exchange,
        receives_over_what_it_sends, a_buffer_for_a_vector, receives_nan, returns_nothing,
    ],
    "collectives.choose": [
        always_ring, by_size_alone, counts_bytes_alone, whole_tensor_in_each_ring_step,
        levels_rounded, levels_rounded_down, levels_not_rounded, natural_logarithm, bits_of_n,
        a_ring_of_n_steps, neither,
    ],
}  # fmt: skip
