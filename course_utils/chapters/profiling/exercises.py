"""Checkers for chapter 03, "Profiling"."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.chapters.profiling import diagnosis
from course_utils.core.evidence import Row, published
from course_utils.lesson.answers import against
from course_utils.lesson.exercises import exercise
from snapshots_and_traces.traces.intervals import covered, length, union
from snapshots_and_traces.traces.trace import Trace

Moments = list[tuple[int, int]]
EDGES: tuple[Moments, ...] = (  # of windows from 100 to 200
    [],
    [(120, 150)],
    [(110, 150), (130, 170)],  # two streams at once
    [(110, 190), (120, 130), (140, 150)],  # one inside another
    [(160, 170), (110, 120), (140, 150)],  # not in order
    [(10, 40), (120, 150), (220, 260)],  # one before the window, one behind it
    [(50, 120), (180, 260)],  # over both edges
    [(50, 260)],  # longer than the window
    [(110, 130), (130, 150)],  # end to end
    [(110, 110), (120, 140), (150, 150)],  # empty kernels
    [(110, 130), (110, 130)],  # the same twice
)


def _random(count: int) -> Moments:
    begins = [random.randrange(0, 300) for _ in range(count)]
    return [(begin, begin + random.randrange(0, 60)) for begin in begins]


def _union(moments: Moments) -> np.ndarray:
    both = np.array(moments, float).reshape(-1, 2)
    return union(both[:, 0], both[:, 1])


@exercise(
    "profiling.exposed_communication",
    todo="write exposed_communication(messages, computing).",
    hints=(
        "Messages may overlap each other, and so may the other kernels: take lengths of unions.",
        "How much longer is the union of all of them than the union of the computing ones?",
    ),
)
def check_exposed(exposed_communication: Callable[..., Any]) -> str:
    """Tries each pair of edges, then random messages and kernels."""
    pairs = [(a, b) for a in EDGES for b in EDGES]
    pairs += [(_random(n), _random(m)) for n in range(5) for m in range(5)]

    def reference(messages: Moments, computing: Moments) -> float:
        sent, ran = _union(messages), _union(computing)
        return length(sent) - float(covered(ran, sent).sum())

    against(exposed_communication, reference, pairs)
    return f"{len(EDGES)}² pairs of edges, and random ones"


@dataclass(frozen=True)
class Run:
    """A training run: `batch` sequences of `length` tokens a step, on all `gpus` together."""

    parameters: int
    layers: int
    width: int
    length: int
    batch: int
    step_seconds: float
    gpus: int
    peak: float
    checkpointing: bool


def _utilisation(run: Run) -> tuple[float, float]:
    token = 6 * run.parameters + 12 * run.layers * run.width * run.length
    model = token * run.batch * run.length / run.step_seconds / (run.gpus * run.peak)
    return model, model * (4 / 3 if run.checkpointing else 1)


def _random_run() -> Run:
    layers, width = random.choice((12, 24, 32)), random.choice((768, 2048, 4096))
    return Run(
        parameters=12 * layers * width**2 + random.randrange(10**6, 10**8),
        layers=layers,
        width=width,
        length=random.choice((512, 2048, 8192)),
        batch=random.choice((8, 48, 1024)),
        step_seconds=random.uniform(0.3, 40),
        gpus=random.choice((1, 8, 64)),
        peak=random.choice((312e12, 989.5e12)),
        checkpointing=random.random() < 0.5,
    )


def _published_run(row: Row) -> Run:
    """MosaicML's row as a run on one GPU."""
    return Run(
        **{name: row[name] for name in ("parameters", "layers", "width", "length")},
        batch=1,
        step_seconds=row["length"] / row["tokens_per_s"],
        gpus=1,
        peak=989.5e12,
        checkpointing=row["hfu"] > 1.01 * row["mfu"],
    )


@exercise(
    "profiling.mfu",
    todo="write mfu(run): (MFU, HFU), as shares.",
    hints=(
        "FLOPs of a step: (6·parameters + 12·layers·width·length) for each of its "
        "batch·length tokens. By what could all its GPUs have done in step_seconds?",
        "Of the six, two are the forward pass; checkpointing makes it run twice. The model "
        "doesn't need the second one: it counts for HFU alone.",
    ),
)
def check_mfu(mfu: Callable[[Run], Any]) -> str:
    """Tries random runs, then MosaicML's, whose two figures are published."""
    pair = " (MFU, HFU)"
    against(mfu, _utilisation, [(_random_run(),) for _ in range(40)], why=lambda run: pair)
    rows = published("mpt_h100").rows
    printed = {_published_run(row): (row["mfu"], row["hfu"]) for row in rows}

    def reference(run: Run) -> tuple[float, float]:
        return printed[run]

    cases = [(run,) for run in printed]
    against(mfu, reference, cases, abs_tol=3e-4, why=lambda run: pair)  # their rates are rounded
    return "random runs, and MosaicML's as they print them"


@exercise(
    "profiling.diagnose",
    todo="write diagnose(trace): what slows the run, or that it is healthy.",
    hints=(
        "Make a dictionary from the four answers to seconds: idle_causes(trace) has three of them "
        "(data, synchronising, host); `other` is none of the four.",
        "The fourth is exposed_communication(run.sending, run.computing), with run = "
        "chapter.lanes(trace).",
        "The answer is the key with the largest value, if that is more than run.seconds / 10.",
    ),
)
def check_diagnose(diagnose: Callable[[Trace], Any]) -> str:
    """Tries the runs that the page shows, the same disguised, and others, three of them on GPUs."""
    return diagnosis.judge(diagnose)
