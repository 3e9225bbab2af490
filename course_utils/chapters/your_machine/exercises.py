"""Checkers for chapter 1, "Your machine"."""

import math
import random
from collections.abc import Callable
from typing import Any

from course_utils.chapters.your_machine.roofline import gpu_roof, layer_norm_work, turning_batch
from course_utils.core.gpus import GPUS, gpu_specs
from course_utils.lesson.answers import against, as_number
from course_utils.lesson.exercises import exercise


@exercise(
    "machine.layer_norm",
    todo="write layer_norm_seconds(rows, width, size, bytes_per_s): the time from its bytes alone.",
    hints=(
        "What is read once, and what is written once? There are four tensors.",
        "The input and the result have rows · width numbers each, weight and bias width each.",
    ),
)
def check_layer_norm(layer_norm_seconds: Callable[[int, int, int, float], float]) -> str:
    """Random shapes, from one row (weight and bias count) to many, and random bandwidths."""
    shapes = [(1, 4096, 2), (2, 768, 4)]
    shapes += [
        (random.randint(1, 20_000), 64 * random.randint(1, 64), random.choice((2, 4)))
        for _ in range(40)
    ]

    def reference(rows: int, width: int, size: int, bytes_per_s: float) -> float:
        return layer_norm_work(rows, width, size).n_bytes / bytes_per_s

    cases = [(*shape, 10 ** random.uniform(9.5, 12.9)) for shape in shapes]
    against(layer_norm_seconds, reference, cases)
    return "42 random shapes, from one row to 20,000, on slow machines and fast ones"


@exercise(
    "machine.turning_batch",
    todo="write turning_batch(n_in, n_out, size, flop_per_s, bytes_per_s): the batch, or None.",
    hints=(
        "T_math = 2·B·n_in·n_out / flop_per_s. T_mem has three tensors, and two of them grow "
        "with the batch B.",
        "Bring B to one side: B · (2·i·o/F − s·(i + o)/W) ≥ s·i·o/W. What if the bracket isn't "
        "positive?",
        "The smallest whole number that is at least a fraction: math.ceil.",
    ),
)
def check_turning_batch(turning: Callable[[int, int, int, float, float], Any]) -> str:
    """An H200's and random machines' layers, some too narrow for any batch, one barely not."""
    roof = gpu_roof(gpu_specs("H200") or GPUS[-1], "BF16")
    h200 = (2, roof.flop_per_s, roof.bytes_per_s)
    cases = [(4096, 4096, *h200), (64, 64, *h200), (512, 8192, *h200), *EXACT]
    cases += [*_layers(20), _late()]
    against(lambda *case: _none_for_infinity(turning(*case)), turning_batch, cases)
    never = sum(turning_batch(*case) is None for case in cases)
    return f"an H200 and random machines, {len(cases)} layers; for {never} no batch is enough"


def _none_for_infinity(batch: Any) -> Any:
    return None if batch is not None and math.isinf(as_number(batch)) else batch


Layer = tuple[int, int, int, float, float]
# Powers of two, which no formula rounds: it turns at 256 exactly; its lines never gain on it.
EXACT: list[Layer] = [(512, 512, 2, 2.0**47, 2.0**40), (512, 512, 2, 2.0**48, 2.0**40)]


def _layers(each: int) -> list[Layer]:
    """As many random layers that turn as ones that never do; none that a millionth decides."""
    found: dict[bool, list[Layer]] = {True: [], False: []}
    while min(map(len, found.values())) < each:
        n_in, n_out = (2 ** random.randint(5, 14) for _ in range(2))
        rate, width = 10 ** random.uniform(11, 15.3), 10 ** random.uniform(10, 12.9)
        size = random.choice((1, 2, 4))
        rates = [rate * (1 + off) for off in (-1e-6, 0, 1e-6)]
        batch, *others = {turning_batch(n_in, n_out, size, one, width) for one in rates}
        if not others:
            found[batch is None].append((n_in, n_out, size, rate, width))
    return [case for cases in found.values() for case in cases[:each]]


def _late() -> Layer:
    """A layer that turns in the millions, halfway between two batches, wherever a search stops."""
    width = 2 ** random.randint(8, 10)
    bytes_per_s = 10 ** random.uniform(11, 12.9)
    turns = random.randint(2_000_000, 3_000_000) + 0.5
    bytes_a_line = 2 * (2 * width + width * width / turns)
    return width, width, 2, 2 * width * width * bytes_per_s / bytes_a_line, bytes_per_s
