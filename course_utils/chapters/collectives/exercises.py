"""Checkers for chapter 11, "Collectives"."""

import math
import random
from collections.abc import Callable
from typing import Any

import torch

from course_utils.chapters.collectives.by_hand import Net
from course_utils.chapters.collectives.simulated_ranks import Deadlock, SimulatedNet, simulate
from course_utils.lesson.answers import as_list, compare
from course_utils.lesson.exercises import Wrong, exercise

DRAWN_NUMBERS = 16
RANKS = (2, 3, 4, 7)


@exercise(
    "collectives.all_gather",
    todo="write all_gather(x, net): the list of all ranks' tensors, in order.",
    hints=(
        "Pass things on round a ring: in each of n−1 steps, send to (rank + 1) % n what you "
        "got last, and receive from (rank − 1) % n.",
        "After s steps you receive the tensor of rank (rank − 1 − s) % n. "
        "net.exchange(x, to, into, source) does both sides at once.",
    ),
)
def check_all_gather(all_gather: Callable[[torch.Tensor, Net], Any]) -> str:
    """On 2, 3, 4 and 7 ranks: the list, in order, on each; no rank sends more than n−1 times x."""
    for n in RANKS:
        inputs = _different(n)

        def gather(net: SimulatedNet, inputs: torch.Tensor = inputs) -> list[Any]:
            return as_list(all_gather(inputs[net.rank].clone(), net), f"a list of {net.n} tensors")

        found, nets = _run(n, gather)
        for rank, parts in enumerate(found):
            picture = _beside(inputs, found, [list(inputs)] * n)
            compare(parts, inputs, f"{n} ranks, rank {rank}", 0.0, picture=picture)
        most, allowed = max(net.sent_bytes for net in nets), (n - 1) * inputs[0].nbytes
        if most > allowed:
            raise Wrong(f"{n} ranks: a rank sends {most} bytes, want at most {allowed}")
    return "2, 3, 4 and 7 ranks with random tensors: right, and no rank sends more than n−1 tensors"


def _different(n: int) -> torch.Tensor:
    """A tensor for each rank, no number of them twice; they are matrices on 7 ranks."""
    shape = (2, random.randint(2, 4)) if n == 7 else (random.randint(1, 5),)
    return torch.randperm(1000)[: n * math.prod(shape)].float().view(n, *shape)


@exercise(
    "collectives.ring",
    todo="write ring_all_reduce(x, net): in place, 2(n−1) steps, one of n chunks in each.",
    hints=(
        "Step through the widget with 3 ranks: which chunk does rank r send in step s, and "
        "which one does it receive?",
        "reduce_scatter: send chunk (rank − s) % n, and add what comes to chunk "
        "(rank − s − 1) % n. The chunk received has the size of the one it is added to.",
        "all_gather: send chunk (rank + 1 − s) % n, receive chunk (rank − s) % n in its place.",
    ),
)
def check_ring(ring_all_reduce: Callable[[torch.Tensor, Net], None]) -> str:
    """The sum, the steps and the bytes of each rank, for lengths that n divides and others."""
    for n in RANKS:
        for length in (n, 5 * n, random.randint(n, 40), n - 1, 1):
            inputs = torch.randint(1000, (n, length)).float()
            left = inputs.clone()

            def reduce(net: SimulatedNet, left: torch.Tensor = left) -> None:
                ring_all_reduce(left[net.rank], net)

            _, nets = _run(n, reduce)
            case = f"{n} ranks, {length} numbers: "
            _require_sum(case, inputs, left)
            _require_ring(case, nets, length)
    return "2, 3, 4 and 7 ranks, lengths that divide and don't: sums, 2(n−1) steps, bytes of a ring"


def _require_sum(case: str, inputs: torch.Tensor, found: torch.Tensor) -> None:
    want = inputs.sum(0)
    picture = _beside(inputs, list(found), [want] * len(inputs))
    for rank, x in enumerate(found):
        compare(x, want, f"{case}rank {rank}", 0.0, picture=picture)


def _beside(inputs: torch.Tensor, found: list[Any], want: list[Any]) -> Any:
    """Draws what the ranks hold beside what they should, if it is little enough to read."""
    from course_utils.chapters.collectives.rank_blocks import draw_holdings

    if inputs.numel() > DRAWN_NUMBERS:
        return None
    before = list(inputs)
    moves = {"yours": (before, found), "wanted": (before, want)}
    return lambda: draw_holdings("Before and after: a row is a rank, a thick frame is new", moves)


def _require_ring(case: str, nets: list[SimulatedNet], length: int) -> None:
    n, largest = len(nets), 4 * math.ceil(length / len(nets))
    for net in nets:
        if net.steps != 2 * (n - 1):
            raise Wrong(f"{case}rank {net.rank} takes {net.steps} steps, want {2 * (n - 1)}")
        if net.sent_bytes > 2 * (n - 1) * largest:
            allowed = f"{2 * (n - 1)} chunks of at most {largest} bytes"
            raise Wrong(f"{case}rank {net.rank} sends {net.sent_bytes} bytes, want {allowed}")
    total, want = sum(net.sent_bytes for net in nets), 2 * (n - 1) * length * 4
    if total != want:
        raise Wrong(f"{case}all ranks together send {total} bytes, want {want}")


class _SendAndReceive:
    """A net on which nothing can be sent and received at once."""

    def __init__(self, net: SimulatedNet) -> None:
        self.rank, self.n, self.send, self.receive = net.rank, net.n, net.send, net.receive


@exercise(
    "collectives.shift",
    todo="write shift(x, net): returns the left neighbour's tensor; send and receive only.",
    hints=(
        "If one rank receives first, it frees its left neighbour, which then can receive, …",
        "Even ranks send first, odd ranks receive first. Where n is odd, two even ranks are "
        "neighbours: does it still end?",
    ),
)
def check_shift(shift: Callable[[torch.Tensor, Any], torch.Tensor]) -> str:
    """The left neighbour's tensor on each rank, with one message from each."""
    for n in (*RANKS, 8):
        inputs = _different(n)

        def pass_on(net: SimulatedNet, inputs: torch.Tensor = inputs) -> torch.Tensor:
            return shift(inputs[net.rank].clone(), _SendAndReceive(net))

        found, nets = _run(n, pass_on)
        for rank, got in enumerate(found):
            compare(got, inputs[(rank - 1) % n], f"{n} ranks, rank {rank}", 0.0)
        if any(net.sent_bytes != inputs[0].nbytes for net in nets):
            sent = [net.sent_bytes for net in nets]
            raise Wrong(f"{n} ranks send {sent} bytes, want {inputs[0].nbytes} from each")
    return "2, 3, 4, 7 and 8 ranks: everyone gets its left neighbour's tensor, and nobody waits"


def _run(n: int, work: Callable[[SimulatedNet], Any]) -> tuple[list[Any], list[SimulatedNet]]:
    try:
        return simulate(n, work)
    except Deadlock as stuck:
        raise Wrong(f"{n} ranks: {stuck}") from None
