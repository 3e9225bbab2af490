"""Compiling a function as if for the first time, and leaving what the page compiled as it is.

`torch.compiler.reset()` and `torch._dynamo.explain` throw away everything that was compiled.
"""

import itertools
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any

import torch

from course_utils.core.running import quiet_logs

_number = itertools.count()


def fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a Python function of which Dynamo knows nothing; anything else as it is.

    Dynamo keeps what it compiled beside a function's code, and which sizes and numbers varied
    under the code's file, line and name (`torch._dynamo.pgo.CodeId`). The copy's code has a name
    that nobody else has. Of what `torch.compile` returned, the function within is copied.
    """
    from torch._dynamo.eval_frame import innermost_fn

    inner = innermost_fn(function)
    if not isinstance(inner, FunctionType):
        return function
    code = inner.__code__.replace(co_name=f"{inner.__name__}_{next(_number)}")
    made = FunctionType(
        code, inner.__globals__, inner.__name__, inner.__defaults__, inner.__closure__
    )
    made.__kwdefaults__ = inner.__kwdefaults__
    return made


@dataclass(eq=False)
class Graphs:
    """A backend for `torch.compile` that runs each graph as it is: counts graphs, and their runs.

    Equal to itself alone: Dynamo runs what it compiled for an equal backend.
    """

    count: int = 0
    runs: int = 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        """Takes one graph, and returns what shall be called instead."""
        self.count += 1

        def run(*given: Any) -> Any:
            self.runs += 1
            return graph.forward(*given)

        return run


@contextmanager
def quietly() -> Iterator[None]:
    """Keeps what torch logs and warns of from the page: the checker says it in a sentence."""
    with quiet_logs(logging.ERROR), warnings.catch_warnings(action="ignore"):
        yield


@cache
def warm_up() -> None:
    """Imports Dynamo and compiles for two sizes, which takes seconds the first time."""
    with quietly():
        doubled = torch.compile(lambda x: x * 2, backend=Graphs())
        for size in (2, 3):
            doubled(torch.ones(size))
