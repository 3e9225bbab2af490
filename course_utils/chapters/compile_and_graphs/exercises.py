"""Checkers for chapter 04, "Compile and graphs"."""

import random
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from course_utils.chapters.compile_and_graphs.fresh_compiles import Graphs, fresh, quietly, warm_up
from course_utils.lesson.answers import as_list, as_number, as_numbers, close, compare
from course_utils.lesson.exercises import LIBRARIES, Wrong, exercise

# ---- Why Dynamo can't take a function as one graph, in one line.


def told(stop: Exception) -> str:
    """One line of what Dynamo raised: where, and its reason without explanations."""
    said = str(stop).partition("from user code")[0]
    stack = getattr(stop, "real_stack", None) or []
    own = [step for step in stack if not any(one in step.filename for one in LIBRARIES)]
    place = "".join(f" at line {step.lineno} ({step.line})" for step in own[-1:])
    return f"the graph breaks{place}. Dynamo says: {_reason(said)}."


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
                    of = f"{graphs.count} graphs for x of shape {list(shape)}"
                    raise Wrong(f"{of}, want one for all its values")
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
    """Runs the compiled answer. Raises: Wrong where it isn't one graph, with the reason."""
    from torch._dynamo import error_on_graph_break
    from torch._dynamo.exc import TorchDynamoException

    try:
        with error_on_graph_break(True):
            return compiled(x)
    except TorchDynamoException as stop:
        with suppress(TorchDynamoException):
            whole(x)  # what is wrong without a compiler, too, is said in Python's words
        raise Wrong(told(stop)) from stop


# ---- The compiled step of the exercise that finds a recompilation.

MOST = 4  # compilations of a steady loop: two that differ, a weight and a length that vary


def step(text: torch.Tensor, label: str, weight: Any, means: Any) -> torch.Tensor:
    """The step that the exercise's loop takes; the notebook shows the same lines."""
    loss = text.tanh().square().mean()
    if label == "step 0":
        return loss
    return means[-1] + weight * (loss - means[-1])


def running_means(texts: list[torch.Tensor]) -> list[float]:
    """Returns the expected result of the loop: the mean loss after each text."""
    losses = [text.double().tanh().square().mean().item() for text in texts]
    return [sum(losses[: k + 1]) / (k + 1) for k in range(len(losses))]


def lists_of_texts() -> list[list[torch.Tensor]]:
    """More texts than torch makes versions: of any lengths, some alike, all alike; then few."""
    count, alike = random.randint(12, 20), random.randint(5, 40)
    varied = [random.randint(5, 40) for _ in range(count)]
    several = [varied, [alike] * 3 + varied, [alike] * count, varied[:2], varied[:1], []]
    return [[random.uniform(0.2, 3) * torch.randn(n) for n in lengths] for lengths in several]


class Watched:
    """A step that was never compiled before: counts its calls and its graphs."""

    def __init__(self) -> None:
        self.graphs, self.calls = Graphs(), 0
        self._plain = fresh(step)
        self._compiled = torch.compile(self._plain, backend=self.graphs)

    def step(self, text: Any, label: Any, weight: Any, means: Any) -> Any:
        """Calls the compiled step, and where torch can't compile for these arguments the plain one.

        Raises: what the plain one raises, in Python's words.
        """
        from torch._dynamo.exc import TorchDynamoException

        self.calls += 1
        try:
            return self._compiled(text, label, weight, means)
        except TorchDynamoException:
            return self._plain(text, label, weight, means)


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
    for texts in lists_of_texts():
        watched, want = Watched(), running_means(texts)
        with quietly():
            got = as_numbers(as_list(steady_loop(watched.step, list(texts)), "a list of means"))
        if watched.calls < len(texts):
            raise Wrong(f"step was called for {watched.calls} of {len(texts)} texts")
        compare(got, want, f"of {len(texts)} texts, the means", rel_tol=1e-4)
        _compiled_seldom(watched)
    return (
        "many texts and few, of one length and of several: the same means, at most 4 compilations"
    )


def _compiled_seldom(watched: Watched) -> None:
    graphs, calls = watched.graphs, watched.calls
    alone = calls - graphs.runs
    if graphs.count > MOST:
        then = f", then gave up for the last {alone}" if alone else ""
        raise Wrong(
            f"compiled {graphs.count} times in {calls} calls{then}, want at most "
            f"{MOST}: which arguments change at each call?"
        )
    if alone:
        raise Wrong(
            f"{alone} of {calls} calls ran without what was compiled: call step as it is given, "
            "and leave torch's settings alone"
        )
