"""Checkers for chapter 04, "Compile and graphs"."""

import random
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from course_utils.chapters.compile_and_graphs import recompiling
from course_utils.chapters.compile_and_graphs.fresh_compiles import Graphs, fresh, quietly, warm_up
from course_utils.lesson.answers import against, as_list, as_number, as_numbers, close, compare
from course_utils.lesson.exercises import LIBRARIES, Wrong, exercise

# ---- Small programs as lists of operators: their passes over memory, and the loops that they
# take.

Ops = list[tuple[str, list[str]]]  # a tensor, and what it is made of
Kinds = list[tuple[str, str, list[str]]]  # the same, with "pointwise" or "reduction" between
P, R = "pointwise", "reduction"

PROGRAMS: dict[str, tuple[Ops, list[str]]] = {
    "one operator": ([("a", ["x", "y"])], ["a"]),
    "x * x": ([("a", ["x", "x"])], ["a"]),
    "a chain": ([("a", ["x"]), ("b", ["a"]), ("c", ["b"]), ("d", ["c"])], ["d"]),
    "an input used twice": ([("a", ["x"]), ("b", ["a", "x"])], ["b"]),
    "a dead operator": ([("a", ["x"]), ("b", ["x"]), ("c", ["a"])], ["c"]),
    "two dead operators in a row": ([("a", ["x"]), ("b", ["y"]), ("c", ["b"])], ["a"]),
    "an input that only a dead operator needs": ([("a", ["x"]), ("b", ["a", "y"])], ["a"]),
    "a step between that the caller wants": ([("a", ["x"]), ("b", ["a"])], ["b", "a"]),
    "two programs in one": ([("a", ["x"]), ("b", ["y"])], ["a", "b"]),
    "a square": ([("a", ["x"]), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"])], ["d"]),
}
NORMALISED: Kinds = [("m", R, ["x"]), ("d", P, ["x", "m"]), ("q", P, ["d"]), ("v", R, ["q"])]
SCHEDULES: dict[str, Kinds] = {
    "nothing": [],
    "a chain": [("a", P, ["x"]), ("b", P, ["a"]), ("c", P, ["b", "y"])],
    "a mean": [("m", R, ["x"])],
    "x / x.sum()": [("s", R, ["x"]), ("y", P, ["x", "s"])],
    "the sum of a square": [("q", P, ["x"]), ("s", R, ["q"])],
    "softmax": [
        *[("m", R, ["x"]), ("d", P, ["x", "m"]), ("e", P, ["d"])],
        *[("s", R, ["e"]), ("y", P, ["e", "s"])],
    ],
    "a variance": NORMALISED,
    "layer norm": [*NORMALISED, ("r", P, ["v"]), ("y", P, ["d", "r"]), ("z", P, ["y", "w", "b"])],
    "two reductions of one tensor": [("a", R, ["x"]), ("b", R, ["x"]), ("y", P, ["a", "x", "b"])],
    "a reduction of a reduction": [("a", R, ["x"]), ("b", R, ["a"]), ("y", P, ["b"])],
    "one that waits, and one that needn't": [("s", R, ["x"]), ("a", P, ["s"]), ("b", P, ["x"])],
    "an old and a new one": [
        *[("s", R, ["x"]), ("a", P, ["s"]), ("b", P, ["a", "s"])],
        *[("t", R, ["b"]), ("c", P, ["s", "t", "a"])],
    ],
}


def passes(ops: Ops, results: list[str]) -> tuple[int, int]:
    """How often memory is gone through: operator by operator, and fused into one loop.

    An operator reads each of its inputs once, however often it uses it, and writes one tensor. The
    loop reads each input that a result depends on, and writes the results.
    """
    made, needed, left = dict(ops), set[str](), list(results)
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left.extend(made.get(name, []))
    return sum(1 + len(set(of)) for _, of in ops), len(needed - set(made)) + len(results)


def loop_numbers(ops: Kinds) -> dict[str, int]:
    """The first loop in which each operator can stand, all having the same elements.

    A reduction's result is there when its loop has ended: who uses it stands in a later one. Found
    by moving each behind what it waits for, as often as the longest chain may need.
    """
    kind = {name: kind for name, kind, _ in ops}
    found = dict.fromkeys(kind, 0)
    for _ in ops:
        for name, _, of in ops:
            for one in of:
                if one in kind:
                    found[name] = max(found[name], found[one] + (kind[one] == R))
    return found


def random_programs() -> list[tuple[Ops, list[str]]]:
    """Programs of two to eight operators, with one or two results that the caller wants."""
    graphs = [_graph(count) for count in (2, 3, 5, 8) * 10]
    names = [[name for name, _ in ops] for ops in graphs]
    return [
        (ops, random.sample(n, random.choice((1, 2)))) for ops, n in zip(graphs, names, strict=True)
    ]


def random_schedules() -> list[Kinds]:
    """Programs of two to ten operators, of which a third are reductions."""
    graphs = [_graph(count) for count in (2, 4, 7, 10) * 10]
    return [[(name, random.choice((P, P, R)), of) for name, of in ops] for ops in graphs]


def _graph(count: int) -> Ops:
    """Operators that use what was there before them; their names say nothing of their order."""
    names, ready = random.sample("abcdefghijkl", count), ["x", "y", "z"][: random.randint(1, 3)]
    found = []
    for name in names:
        found.append((name, random.choices(ready[-4:], k=random.randint(1, 3))))
        ready.append(name)
    return found


# ---- Why Dynamo can't take a function as one graph, in one line.


def told(stop: Exception) -> str:
    """One line of what Dynamo raised: where, and its reason without explanations."""
    said = str(stop).partition("from user code")[0]
    return f"the graph breaks{_place(stop)}. Dynamo says: {_reason(said)}."


def _place(stop: Exception) -> str:
    """The innermost line that is neither torch's nor Python's own."""
    stack = getattr(stop, "real_stack", None) or []
    own = [step for step in stack if not any(one in step.filename for one in LIBRARIES)]
    return "".join(f" at line {step.lineno} ({step.line})" for step in own[-1:])


def _reason(said: str) -> str:
    """The first line that says something; one that announces another has it beside."""
    inner = re.search(r"""got \w+\((["'])(.+?)\1\)""", said)
    if inner:
        return inner[2].rstrip(".")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if lines[0].endswith("Got graph break/error:"):
        lines = lines[1:]
    return " ".join(lines[: 1 + lines[0].endswith(":")]).rstrip(".")


def broken(x: torch.Tensor) -> torch.Tensor:
    """The function that the exercise begins with; the notebook shows the same lines."""
    y = torch.tanh(x)
    if y.sum() <= 0:
        y = y + 0.5
    y = y / y.abs().max().item()
    return y[y > 0].sum()


def _inputs(*shape: int) -> list[torch.Tensor]:
    """Both branches, with one sign and with both, close to the border and on it."""
    drawn, shift = torch.randn(shape), torch.rand(())
    centred, large = drawn - drawn.mean(), drawn.abs()
    small = large / (3 * drawn.numel())
    return [large, -large, centred + shift, centred - shift, small, -small, torch.zeros(shape)]


@exercise(
    "compile.one_graph",
    todo="write whole(x): it returns what broken(x) does, in one graph.",
    hints=(
        "Each break is a place where Python asks what is in a tensor: to choose a line, to have a "
        "number, to know how many elements are left. Which line is named, and what does it ask?",
        "torch can be asked for the same without an answer in Python: torch.where(condition, a, b) "
        "takes one of two tensors, a tensor of one number divides as a number does, and zeros add "
        "nothing to a sum.",
    ),
    prepare=warm_up,
)
def check_one_graph(whole: Callable[[torch.Tensor], Any]) -> str:
    """Several shapes, each compiled once for all its values, by a backend that compiles nothing."""
    sizes = random.sample(range(2, 9), 3)
    for shape in [(1,), (sizes[0],), (sizes[0], sizes[1]), (sizes[2], 1, sizes[1])]:
        graphs = Graphs()
        with quietly():
            compiled = torch.compile(fresh(whole), backend=graphs)
            for x in _inputs(*shape):
                _compare(compiled, whole, x)
                if graphs.count != 1:
                    raise Wrong(_counted(graphs.count, shape))
    return "four shapes, with values for both branches: one graph each, the same numbers"


def _compare(compiled: Callable[..., Any], whole: Callable[..., Any], x: torch.Tensor) -> None:
    given, want = x.clone(), float(broken(x))
    got = as_number(_run(compiled, whole, given))
    branch = f"x of shape {list(x.shape)}, whose tanh sums to {float(x.tanh().sum()):.3g}"
    if not torch.equal(given, x):
        raise Wrong(f"{branch}: x itself was changed")
    if not close(got, want, rel_tol=1e-4, abs_tol=1e-5):
        raise Wrong(f"{branch}: want {want:.5g}, got {got:.5g}")


def _run(compiled: Callable[..., Any], whole: Callable[..., Any], x: torch.Tensor) -> Any:
    """What the compiled answer gives. Raises: Wrong where it isn't one graph, with the reason."""
    from torch._dynamo import error_on_graph_break
    from torch._dynamo.exc import TorchDynamoException

    try:
        with error_on_graph_break(True):
            return compiled(x)
    except TorchDynamoException as stop:
        with suppress(TorchDynamoException):
            whole(x)  # what is wrong without a compiler, too, is said in Python's words
        raise Wrong(told(stop)) from stop


def _counted(count: int, shape: tuple[int, ...]) -> str:
    if count == 0:
        return "nothing was compiled: torch.compile found no operator that it could put in a graph"
    return f"{count} graphs for x of shape {list(shape)}, want one for all its values"


@exercise(
    "compile.fused_speedup",
    todo="write speedup(ops, results): bytes operator by operator / bytes in one loop.",
    hints=(
        "All tensors have one size, so that passes will do for bytes. An operator reads each "
        "tensor once, however often it uses it: len(set(inputs)), and writes one.",
        "Which are needed? Go backwards: the results are, and so is what a needed one is made of.",
        "One loop reads the needed tensors that no operator makes, and writes the results. "
        "Everything between stays in registers.",
    ),
)
def check_fused_speedup(speedup: Callable[[Ops, list[str]], Any]) -> str:
    """Each edge alone, then random programs."""

    def reference(ops: Ops, results: list[str]) -> float:
        eager, fused = passes(ops, results)
        return eager / fused

    def why(ops: Ops, results: list[str]) -> str:
        eager, fused = passes(ops, results)
        return f" ({eager} passes against {fused})"

    against(speedup, reference, [*PROGRAMS.values(), *random_programs()], why=why)
    return f"{len(PROGRAMS)} edges, and random programs"


@exercise(
    "compile.loops",
    todo="write loops(ops): a dictionary with the number of each operator's loop.",
    hints=(
        "Go through ops in order: when you come to one, the loops of its inputs are known. An "
        "input of the program is there from the beginning: 0.",
        "It stands in the latest of its inputs' loops, and one later than each input that is a "
        "reduction. What a reduction reads makes it wait as any other.",
    ),
)
def check_loops(loops: Callable[[Kinds], Any]) -> str:
    """Programs that the reader knows, then random ones."""
    against(loops, loop_numbers, [(ops,) for ops in (*SCHEDULES.values(), *random_schedules())])
    return f"{len(SCHEDULES)} programs by name, and random ones"


@exercise(
    "compile.steady_loop",
    todo="write steady_loop(step, texts): the means of slow_loop, with four compilations or fewer.",
    hints=(
        "times_compiled(step, calls) with one argument that changes, and the others as they are: "
        "which of the four compile at each call, and which once or twice?",
        "What does step read of the label, and what of the list? It may be given that, and no "
        "more.",
    ),
    prepare=warm_up,
)
def check_steady_loop(steady_loop: Callable[..., Any]) -> str:
    """Many texts and few, each list with a step that nobody compiled before."""
    for texts in recompiling.lists_of_texts():
        watched, want = recompiling.Watched(), recompiling.running_means(texts)
        with quietly():
            got = as_numbers(as_list(steady_loop(watched.step, list(texts)), "a list of means"))
        if watched.calls < len(texts):
            raise Wrong(f"step was called for {watched.calls} of {len(texts)} texts")
        compare(got, want, f"of {len(texts)} texts, the means", rel_tol=1e-4)
        _compiled_seldom(watched)
    return (
        "many texts and few, of one length and of several: the same means, at most 4 compilations"
    )


def _compiled_seldom(watched: recompiling.Watched) -> None:
    graphs, calls = watched.graphs, watched.calls
    alone = calls - graphs.runs
    if graphs.count > recompiling.MOST:
        then = f", then gave up for the last {alone}" if alone else ""
        why = watched.changing
        raise Wrong(
            f"compiled {graphs.count} times in {calls} calls{then}, want at most "
            f"{recompiling.MOST}: " + (f"step got {why}" if why else "which argument changes?")
        )
    if alone:
        raise Wrong(
            f"{alone} of {calls} calls ran without what was compiled: call step as it is given, "
            "and leave torch's settings alone"
        )
