"""Counts a traced program's passes over memory, one operator at a time and fused into loops.

A pass reads or writes one whole tensor of FP32. Values that are one number (a constant, a sum, and
arithmetic with these alone) cost no pass.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Value(Protocol):
    """A value of the page's tracer: `op` is an input's name, a number, a sign or "sum".

    `of` has the values that it is made of, and nothing for inputs and numbers.
    """

    op: str
    of: tuple[Any, ...]


Tracer = Callable[[Callable[..., Any], Sequence[str]], tuple[Sequence[Value], Value]]


@dataclass(frozen=True)
class Fusion:
    """A program's values, the loops that compute them, and its passes over memory.

    `loops` has the loops, from 0, that compute each live operator or read each live input; `live`
    and `dead` are in the tape's order, and only operators can be dead: the result doesn't need
    them. `full` are the values that have all n elements.
    """

    live: tuple[Value, ...]
    dead: tuple[Value, ...]
    full: frozenset[Value]
    loops: dict[Value, set[int]]
    passes_eager: int
    passes_fused: int

    @property
    def bound(self) -> float:
        """Passes before by passes after: the most that fusing can gain."""
        return self.passes_eager / self.passes_fused if self.passes_fused else 1.0


def fuse(tape: Sequence[Value], result: Value) -> Fusion:
    """Divides a program into loops as Inductor does, which computes cheap values again.

    A sum and the result are each computed once, in the first loop in which all that they need is
    there. Every other operator is computed in each loop that uses it, from the program's inputs
    and earlier sums, so that no loop stores a tensor for a later one.
    Raises: TypeError for a result that is no value of the tape.
    """
    if not any(result is value for value in tape):
        raise TypeError(f"The program gives {result!r}, and nothing made of its inputs.")
    loops, first = {result: set[int]()}, _first_loops(tape)
    for value in reversed(tape):
        if value in loops and (value is result or value.op == "sum"):
            loops[value] = {first[value]}
        for one in value.of if value in loops else ():
            loops[one] = loops.get(one, set()) | loops[value]
    live = tuple(value for value in tape if value in loops)
    dead = tuple(value for value in tape if value.of and value not in loops)
    full = _full(tape)
    eager = sum(len(full.intersection(v.of)) + (v in full) for v in tape if v.of)
    reads = sum(len(loops[v]) for v in live if v in full and not v.of)
    fused = reads + (result in full) if result.of else 0
    return Fusion(live, dead, full, loops, eager, fused)


def is_number(value: Value) -> bool:
    """Whether it is a constant of the program."""
    try:
        float(value.op)
    except ValueError:
        return False
    return not value.of


def _first_loops(tape: Iterable[Value]) -> dict[Value, int]:
    """The first loop in which each value can be computed: a sum is known when its loop ends."""
    first: dict[Value, int] = {}
    for value in tape:
        first[value] = max((first[one] + (one.op == "sum") for one in value.of), default=0)
    return first


def _full(tape: Iterable[Value]) -> frozenset[Value]:
    """Values with all n elements: inputs, and what operators other than sums make of them."""
    found: set[Value] = set()
    for value in tape:
        of_tensors = value.op != "sum" and not found.isdisjoint(value.of)
        if of_tensors if value.of else not is_number(value):
            found.add(value)
    return frozenset(found)
