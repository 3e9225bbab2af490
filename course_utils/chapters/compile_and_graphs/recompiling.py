"""Functions and calls of them for the exercise that finds the calls which compile anew."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from course_utils.chapters.compile_and_graphs.fresh_compiles import Graphs, fresh

Calls = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """A function, in words too (`code`), calls of it, and the indices of those that compile.

    `want` is what torch 2.13 does, and `why`; `compiling` asks the torch that is installed.
    """

    function: Callable[..., Any]
    code: str
    calls: Calls
    want: list[int]
    why: str

    def __str__(self) -> str:
        return f"{self.code}, called with {'; '.join(map(_shown, self.calls)) or 'nothing at all'}"


def compiling(case: Case) -> list[int]:
    """Which of a case's calls compile, found with a copy of its function."""
    graphs, found = Graphs(), []
    compiled = torch.compile(fresh(case.function), backend=graphs)
    for number, arguments in enumerate(case.calls):
        before = graphs.count
        compiled(*arguments)
        if graphs.count > before:
            found.append(number)
    return found


def cases() -> list[Case]:
    """What can change between two calls, one thing at a time, drawn anew each time."""
    x, some = torch.randn(random.randrange(4, 40)), random.randrange(2, 5)
    return [*_of_tensors(x, some), *_of_breaks(x, some), *_of_arguments(x, some)]


def _of_tensors(x: torch.Tensor, some: int) -> list[Case]:
    flat, wide = (x,), (torch.randn(len(x), 2),)
    sizes = random.sample(range(2, 40), 4)
    calls: list[tuple[Calls, list[int], str]] = [
        (
            [(torch.randn(len(x)),) for _ in range(some)],
            [0],
            "new values need no new code",
        ),
        ([], [], "what isn't called isn't compiled"),
        (
            [(torch.randn(n),) for n in [*sizes, sizes[0], 1]],
            [0, 1, 5],
            "the first size is compiled in, the second as a size that may vary, which serves for "
            "all others but 1",
        ),
        (
            [flat] * some + [wide, flat],
            [0, some],
            "another number of dimensions needs code of its own",
        ),
        (
            [flat] * some + [(x.double(),), flat],
            [0, some],
            "another dtype needs code of its own",
        ),
        (
            [flat] * some + [(x.clone().requires_grad_(),), flat],
            [0, some],
            "a gradient to come needs code of its own",
        ),
    ]
    return [Case(lambda x: x * 2, "x * 2", *one) for one in calls]


def _of_breaks(x: torch.Tensor, some: int) -> list[Case]:
    above, below = (x.abs(),), (-x.abs(),)
    return [
        Case(
            _printing,
            "y = x * 2, then print(...), then y + 1",
            [above] * some,
            [0],
            "a break makes two graphs, but of one call",
        ),
        Case(
            _branching,
            "x * 2 if x.sum() > 0 else x - 1",
            [above] * some + [below, above],
            [0, some],
            "a branch that depends on values is compiled when it is first taken",
        ),
    ]


def _of_arguments(x: torch.Tensor, some: int) -> list[Case]:
    first, *others = (n / 2 + 0.125 for n in random.sample(range(3, 90), 3))
    factors = [first] * some + others
    names = [f"net {n}" for n in range(torch._dynamo.config.recompile_limit + 2)]
    return [
        Case(
            lambda x, factor: x * factor,
            "x * factor",
            [(x, factor) for factor in factors],
            [0, some],
            "the first Python number is compiled in, the second as a number that may vary",
        ),
        Case(
            lambda x, factor: x * factor,
            "x * factor",
            [(x, torch.tensor(factor)) for factor in factors],
            [0],
            "in a tensor, a number is a value as any other",
        ),
        Case(
            lambda x, name: x * 2 if name == "double" else x + 1,
            'x * 2 if name == "double" else x + 1',
            [(x, names[0]), *((x, name) for name in names)],
            [0, *range(2, len(names) - 1)],
            f"each text is compiled in, and after {len(names) - 2} versions torch gives up",
        ),
    ]


def _printing(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    print(end="")
    return y + 1


def _branching(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.sum() > 0 else x - 1


def _shown(arguments: tuple[Any, ...]) -> str:
    return ", ".join(_shown_one(one) for one in arguments)


def _shown_one(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    if not value.shape:
        return f"tensor({value.item():g})"
    grad = " with grad" if value.requires_grad else ""
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{grad}"
