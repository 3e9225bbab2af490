"""A chain of layers that count their calls; what flows through it knows how much of it is alive.

Nothing is computed: a value knows only where in the chain it belongs, so a layer can tell whether
it was given the right one. A value that nobody refers to any more is gone at once, as in CPython.
"""

import math
from collections import Counter
from itertools import pairwise
from typing import Any
from weakref import WeakSet

from course_utils.lesson.answers import shown
from course_utils.lesson.exercises import Wrong

INPUT, GRADIENT = "the input", "the gradient for the input"


class Value:
    """What goes into layer `place`, or the gradient for it; `place` of a chain's output is `n`."""

    def __init__(self, what: str, place: int) -> None:
        self.what, self.place = what, place

    def __repr__(self) -> str:
        return f"{self.what} of layer {self.place}"


class Layer:
    """One layer of a chain. It keeps nothing that it is given."""

    def __init__(self, chain: "CountedChain", place: int) -> None:
        self._chain, self._place = chain, place

    def __repr__(self) -> str:
        return f"layer {self._place}"

    def forward(self, x: Value) -> Value:
        """The layer's output for its input `x`. Raises: Wrong for another layer's."""
        call = f"the forward of layer {self._place}"
        self._chain.expect(x, INPUT, self._place, f"{call} is given")
        self._chain.forwards[self._place] += 1
        return self._chain.make(INPUT, self._place + 1, call)

    def backward(self, x: Value, grad: Value) -> Value:
        """The gradient for its input `x`, given that for its output. Raises: Wrong for others."""
        call = f"the backward of layer {self._place}"
        self._chain.expect(x, INPUT, self._place, f"{call} is given")
        self._chain.expect(grad, GRADIENT, self._place + 1, f"{call} is given")
        return self._chain.make(GRADIENT, self._place, call)


class CountedChain:
    """`n` layers; the input of every `every`-th, from the first on, is to be kept."""

    def __init__(self, n: int, every: int) -> None:
        self.forwards: Counter[int] = Counter()
        self.layers = [Layer(self, place) for place in range(n)]
        self.case = f"{n} layer{'s' * (n > 1)}, every={every}"
        self.segments, self._every = math.ceil(n / every), every
        self._most_alive = self.segments + every + 3
        self._alive: WeakSet[Value] = WeakSet()

    @property
    def least_calls(self) -> int:
        """Forward calls that suffice: none for the last of a segment where it is run again.

        The last segment has no other run than that one.
        """
        n = len(self.layers)
        return 2 * n - self.segments - (n - (self.segments - 1) * self._every)

    def make(self, what: str, place: int, call: str = "") -> Value:
        """A new value, made by `call`. Raises: Wrong where too many are alive with it."""
        value = Value(what, place)
        self._alive.add(value)
        if len(self._alive) > self._most_alive:
            raise Wrong(
                f"{self.case}: {len(self._alive)} values are alive at once in {call}, want at most "
                f"{self._most_alive}: {self._held()}"
            )
        return value

    def expect(self, got: Any, what: str, place: int, call: str) -> None:
        """Raises: Wrong where `got` isn't the value that belongs there; `call` says who has it."""
        if not isinstance(got, Value) or (got.what, got.place) != (what, place):
            raise Wrong(f"{self.case}: {call} {shown(got)}, want {Value(what, place)}")

    def check_calls(self) -> None:
        """Raises: Wrong where layers ran more often than by segments, each run again but its last.

        The first run of the last segment isn't asked to be left out.
        """
        n, total = len(self.layers), self.forwards.total()
        if total <= 2 * n - self.segments:
            return
        often, times = max(self.forwards.items(), key=lambda call: call[1])
        why = f"layer {often} ran {times} times"
        if times <= 2:
            lasts = [*range(self._every - 1, n - 1, self._every), n - 1]
            twice = min(place for place in lasts if self.forwards[place] == 2)
            why = f"layer {twice}, the last of its segment, ran again: who needs its output?"
        most = 2 * n - self.segments
        raise Wrong(f"{self.case}: {total} forward calls, want at most {most}: {why}")

    def _held(self) -> str:
        """Which values are alive: places in a row as "4 to 9"."""
        places = sorted({value.place for value in self._alive if value.what == INPUT})
        breaks = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(places)) if b > a + 1)]
        runs = [places[a:b] for a, b in pairwise([*breaks, len(places)])]
        told = [f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
        gradients = sum(value.what == GRADIENT for value in self._alive)
        return f"the inputs of layers {', '.join(told)}, and gradients ({gradients})"
