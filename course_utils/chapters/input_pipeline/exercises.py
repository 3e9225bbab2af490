"""Checkers for chapter 05, "Input pipeline"."""

import random
import statistics
from collections.abc import Callable
from typing import Any

import torch

from course_utils.lesson.exercises import Wrong, exercise

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.int8)


@exercise(
    "input_pipeline.n_bytes",
    todo="write n_bytes(shape, dtype), without making a tensor.",
    hints=(
        "How many numbers are there? Multiply the sizes; a scalar has one number.",
        "dtype.itemsize is what one number takes.",
    ),
)
def check_n_bytes(n_bytes: Callable[..., Any]) -> str:
    """Random shapes and dtypes, a scalar and an empty tensor among them."""
    shapes = [tuple(random.choices(range(1, 50), k=dimensions)) for dimensions in range(5)]
    for shape in (*shapes, (3, 0)):
        dtype = random.choice(DTYPES)
        want, got = torch.empty(shape, dtype=dtype).nbytes, n_bytes(shape, dtype)
        if got != want:
            raise Wrong(f"shape {shape}, {dtype}: want {want:,} bytes, got {got!r:.40}")
    return "shapes of no to four dimensions in four dtypes"


@exercise(
    "input_pipeline.median",
    todo="write median(times), which leaves the list as it was.",
    hints=("sorted(times) is a new list.", "Of an even number of times, two are in the middle."),
)
def check_median(median: Callable[..., Any]) -> str:
    """Random lists of odd and even length, which must stay as they were."""
    for length in (1, 2, 5, 6, 25, 40):
        times = [random.random() for _ in range(length)]
        before = list(times)
        got, want = median(times), statistics.median(before)
        if times != before:
            raise Wrong("the list was changed: the caller has its times in another order now")
        if got != want:
            raise Wrong(f"of {length} times: want {want:.4g}, got {got!r:.40}")
    return "lists of one to forty times, odd and even"
