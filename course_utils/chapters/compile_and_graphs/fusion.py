"""What a traced program costs in passes over memory, one operator at a time and fused into loops.

A pass reads or writes one whole tensor of FP32. What stands for one number (a constant, a sum,
and arithmetic with these alone) costs none.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

BYTES = 4  # of a number in FP32


class Value(Protocol):
    """A value of the page's tracer: `op` is an input's name, a number, a sign or "sum".

    `of` has the values that it is made of, and nothing for inputs and numbers.
    """

    op: str
    of: tuple[Any, ...]


Tracer = Callable[[Callable[..., Any], Sequence[str]], tuple[Sequence[Value], Value]]


@dataclass(frozen=True)
class Fusion:
    """A program's values, the loops that they are fused into, and its passes over memory.

    `loops` has the loop of each live value, from 0; `live` and `dead` are in the tape's order, and
    only operators can be dead: the result does without them. `full` are those of the tape that have
    all n elements: neither a number, nor a sum, nor made of these alone.
    """

    live: tuple[Value, ...]
    dead: tuple[Value, ...]
    full: frozenset[Value]
    loops: dict[Value, int]
    passes_eager: int
    passes_fused: int

    @property
    def bound(self) -> float:
        """How many times fewer passes fusing leaves, so the most that it can win."""
        return self.passes_eager / self.passes_fused if self.passes_fused else 1.0

    def bytes_eager(self, n: int) -> int:
        """Bytes read and written for `n` elements by one operator after the other."""
        return BYTES * n * self.passes_eager

    def bytes_fused(self, n: int) -> int:
        """Bytes read and written for `n` elements by the loops."""
        return BYTES * n * self.passes_fused


def fuse(tape: Sequence[Value], result: Value) -> Fusion:
    """Puts each value that the result needs into the first loop in which it can stand.

    Raises: TypeError for a result that is no value of the tape.
    """
    if not any(result is value for value in tape):
        raise TypeError(f"The program gives {result!r}, and nothing made of its inputs.")
    needed = _needed(result)
    live = tuple(value for value in tape if value in needed)
    dead = tuple(value for value in tape if value.of and value not in needed)
    loops, full = _loops(live), _full(tape)
    eager, fused = _eager(tape, full), _fused(live, full, loops, result)
    return Fusion(live, dead, full, loops, eager, fused)


def is_number(value: Value) -> bool:
    """Whether it stands for a constant of the program."""
    try:
        float(value.op)
    except ValueError:
        return False
    return not value.of


def _needed(result: Value) -> set[Value]:
    found, waiting = set(), [result]
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting += value.of
    return found


def _loops(live: Iterable[Value]) -> dict[Value, int]:
    """A sum's value is there when its loop has ended, and not earlier."""
    loops: dict[Value, int] = {}
    for value in live:
        loops[value] = max((loops[one] + (one.op == "sum") for one in value.of), default=0)
    return loops


def _full(tape: Iterable[Value]) -> frozenset[Value]:
    found: set[Value] = set()
    for value in tape:
        of_tensors = value.op != "sum" and not found.isdisjoint(value.of)
        if of_tensors if value.of else not is_number(value):
            found.add(value)
    return frozenset(found)


def _eager(tape: Iterable[Value], full: frozenset[Value]) -> int:
    """Each operator reads each of its tensors once, and writes its own; the dead ones too."""
    return sum(len(full.intersection(v.of)) + (v in full) for v in tape if v.of)


def _fused(
    live: Iterable[Value], full: frozenset[Value], loops: dict[Value, int], result: Value
) -> int:
    """Each loop reads what comes from outside; what is needed after it is written once."""
    reads, needed_later = set(), {result}
    for value in live:
        for one in full.intersection(value.of):
            if not one.of or loops[one] < loops[value]:
                reads.add((loops[value], one))
                needed_later.add(one)
    return len(reads) + sum(bool(value.of) for value in needed_later & full)
