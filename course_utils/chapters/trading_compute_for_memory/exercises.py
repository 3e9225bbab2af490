"""Checkers for chapter 10, "Trading compute for memory"."""

import random
from collections.abc import Callable
from typing import Any

from course_utils.chapters.trading_compute_for_memory import losses, policies, steps
from course_utils.chapters.trading_compute_for_memory.counted_chain import (
    GRADIENT,
    INPUT,
    CountedChain,
)
from course_utils.lesson.answers import as_list, shown
from course_utils.lesson.exercises import Wrong, exercise


@exercise(
    "trade.chain",
    todo="write gradient(layers, x, grad, every): keep every every-th input, run the rest again.",
    hints=(
        "The first run keeps x where i % every == 0, and lets the others go. Then the segments, "
        "from the last to the first: from its kept input, which of its inputs are still missing?",
        "backward wants a layer's input, never its output: in a segment that is run again, the "
        "last layer needn't be.",
        "A list dies when no name has it. While you build the inputs of the next segment, which "
        "name still has those of the one before? inputs.pop() lets each go as it is used.",
    ),
)
def check_chain(gradient: Callable[..., Any]) -> str:
    """Each edge, then chains whose last segment is a short one; values and calls are counted."""
    n, every = random.randint(40, 59), random.randint(5, 8)
    edges = [(12, 4), (13, 4), (7, 1), (7, 7), (7, 12), (13, 12), (1, 1), (1, 3)]
    for layers, each in [*edges, (n, 1), (n, n // 2), (n, every), (60, 8)]:
        chain = CountedChain(layers, each)
        x, grad = chain.make(INPUT, 0), chain.make(GRADIENT, layers)
        got = gradient(list(chain.layers), x, grad, each)
        chain.expect(got, GRADIENT, 0, "you return")
        chain.check_calls()
    calls, best = chain.forwards.total(), chain.least_calls
    return f"chains of 1 to 60 layers; {chain.case}: {calls} forward calls, of which {best} must be"


@exercise(
    "trade.policy",
    todo="write keep(operators, budget): the names to keep, so that the fewest FLOPs run again.",
    hints=(
        "The most FLOPs a MiB first? Budget 10; one of 6 MiB and 7 GFLOP, two of 5 MiB and 5 "
        "GFLOP each. What does that order keep, and what is best?",
        "Twelve operators have 4,096 sets: itertools.combinations(operators, k), for each k, "
        "tries them all.",
        "For hundreds of operators: a table of the best set for each budget from 0 up, made "
        "better by one operator after the other.",
    ),
)
def check_policy(keep: Callable[[policies.Operators, int], Any]) -> str:
    """Each edge, then operators that no greedy order solves, against the best of all sets."""
    plans = list(policies.plans())
    for what, operators, budget in plans:
        names = as_list(keep(dict(operators), budget), "a set of names")
        _judge_policy(names, operators, budget, what)
    return f"{len(plans)} budgets, for none to twelve operators: no choice recomputes less"


def _judge_policy(names: list[Any], operators: policies.Operators, budget: int, what: str) -> None:
    sizes = "; ".join(f"{name} {size}, {flops}" for name, (size, flops) in operators.items())
    given = f"{what} (MiB, GFLOP: {sizes or 'none'}), budget {budget}: "
    if strangers := [name for name in names if name not in list(operators)]:
        raise Wrong(f"{given}you keep {shown(strangers[0])}, which isn't the name of one")
    taken = _size(operators, names)
    if taken > budget:
        raise Wrong(f"{given}you keep {_listed(names)}, which takes {taken} MiB")
    better = policies.best(operators, budget)
    least, again = (policies.recomputed(operators, kept) for kept in (better, names))
    if again > least:
        raise Wrong(
            f"{given}you keep {_listed(names)} ({taken} MiB) and run {again} GFLOP again; with "
            f"{_listed(better)} ({_size(operators, better)} MiB) it is {least}"
        )


def _size(operators: policies.Operators, names: list[str]) -> int:
    return sum(operators[name][0] for name in set(names))


def _listed(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "nothing"


@exercise(
    "trade.chunks",
    todo="write chunked_loss(hidden, weight, targets, chunk): the plain loss, few logits alive.",
    hints=(
        "The mean over all targets that count is a sum of sums, divided once. hidden.split(chunk) "
        "may end in a shorter one; a mean over a chunk whose targets are all -100 is NaN.",
        "In a loop alone the graph keeps each chunk's softmax for the backward; a checkpoint of "
        "each chunk doesn't, but runs its product again.",
        "With a torch.autograd.Function of your own: the gradient of a chunk's logits is softmax - "
        "one-hot, over the number of targets that count. Make both gradients in the forward, save "
        "them, and multiply them in the backward by what comes in.",
    ),
)
def check_chunks(chunked_loss: Callable[..., Any]) -> str:
    """Value, gradients and counted bytes, at each edge; what goes backward isn't the loss alone."""
    chunk = random.randint(10, 12)
    for n, each in [(12 * chunk, chunk), (12 * chunk + 3, chunk), (8, 1), (20, 64), (1, 1)]:
        losses.judge(chunked_loss, n, each)
    return (
        "1 to over 120 rows, some chunks with no target that counts: the plain loss's gradients, "
        f"never over {losses.COPIES} chunks of logits, each product once"
    )


@exercise(
    "trade.accumulate",
    todo="write accumulate(model, optimizer, micro_batches): one step, as of one whole batch.",
    hints=(
        "The mean over all tokens weighs a micro-batch by its tokens whose target isn't -100. "
        "The targets are there before any forward: count them all first.",
        "backward() adds to .grad and lets its graph go. One for each micro-batch, before the "
        "next forward, holds the activations of one.",
        'reduction="sum", over the number of all tokens, is a micro-batch\'s share of the mean: '
        "the shares' gradients add up to the mean's, and the shares to the loss.",
    ),
)
def check_accumulate(accumulate: Callable[..., Any]) -> str:
    """Groups of one to four micro-batches on a small GPT that already holds gradients."""
    for group in ([1.0, 0.1, 0.6, 0.3], [0.2, 0.0, 1.0], [0.5]):
        steps.judge(accumulate, random.sample(group, len(group)))
    return "groups of 1 to 4 uneven micro-batches: one step, the whole batch's gradients, one graph"
