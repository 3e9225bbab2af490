"""Checkers for chapter 03, "Profiling"."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.chapters.profiling import diagnosis
from course_utils.core.evidence import published
from course_utils.lesson.answers import as_list, as_number, as_numbers, close
from course_utils.lesson.exercises import Wrong, exercise
from snapshots_and_traces.traces.intervals import covered, length, union, within
from snapshots_and_traces.traces.trace import Trace

Moments = list[tuple[int, int]]
EDGES: dict[str, Moments] = {  # of windows from 100 to 200
    "no kernel": [],
    "one kernel": [(120, 150)],
    "two streams at once": [(110, 150), (130, 170)],
    "one inside another": [(110, 190), (120, 130), (140, 150)],
    "not in order": [(160, 170), (110, 120), (140, 150)],
    "one before the window, one behind it": [(10, 40), (120, 150), (220, 260)],
    "over both edges": [(50, 120), (180, 260)],
    "longer than the window": [(50, 260)],
    "end to end": [(110, 130), (130, 150)],
    "empty kernels": [(110, 110), (120, 140), (150, 150)],
    "the same twice": [(110, 130), (110, 130)],
}


def _random(count: int) -> Moments:
    begins = [random.randrange(0, 300) for _ in range(count)]
    return [(begin, begin + random.randrange(0, 60)) for begin in begins]


def _union(moments: Moments) -> np.ndarray:
    both = np.array(moments, float).reshape(-1, 2)
    return union(both[:, 0], both[:, 1])


@exercise(
    "profiling.idle_share",
    todo="write idle_share(kernels, begin, end).",
    hints=(
        "A kernel that reaches over an edge counts up to it: max(k, begin) to min(k, end). One "
        "that lies outside is then turned round, end before begin: leave it out.",
        "Where two streams run at once the time counts once: unite the cut kernels, add up what "
        "is left, and take it from end − begin.",
    ),
)
def check_idle_share(idle_share: Callable[..., Any]) -> str:
    """Each edge alone, then random kernels on several streams; the window is never twice alike."""
    cases = list(EDGES.items()) + [
        (f"{count} random kernels", _random(count)) for count in (1, 2, 3, 5, 8) * 8
    ]
    for name, kernels in cases:
        times, later = random.randrange(1, 5), random.randrange(0, 500)
        moved = [(times * begin + later, times * end + later) for begin, end in kernels]
        begin, end = times * 100 + later, times * 200 + later
        given, want = list(moved), 1 - length(within(_union(moved), begin, end)) / (end - begin)
        got = as_number(idle_share(given, begin, end))
        if given != moved:
            raise Wrong(f"{name}: the list of kernels was changed")
        if not close(got, want):
            raise Wrong(f"{name}, {moved}, from {begin} to {end}: want {want:.4g}, got {got:.4g}")
    return f"{len(EDGES)} edges, and random kernels"


@exercise(
    "profiling.exposed_communication",
    todo="write exposed_communication(messages, computing).",
    hints=(
        "Messages may overlap each other, and so may the other kernels: unite first.",
        "A time belongs to messages, to computing, or to both. What have all of them together "
        "that computing alone hasn't?",
    ),
)
def check_exposed(exposed_communication: Callable[..., Any]) -> str:
    """Each pair of edges, then random messages and kernels."""
    names = list(EDGES)
    pairs = [(a, EDGES[a], b, EDGES[b]) for a in names for b in names]
    pairs += [("random", _random(n), "random", _random(m)) for n in range(5) for m in range(5)]
    for what, messages, beside, computing in pairs:
        sent, ran = _union(messages), _union(computing)
        want = length(sent) - float(covered(ran, sent).sum())
        given = list(messages), list(computing)
        got = as_number(exposed_communication(*given))
        if given != (messages, computing):
            raise Wrong("a list was changed: the caller has its times in another order now")
        if not close(got, want):
            raise Wrong(
                f"messages {messages} ({what}), computing {computing} ({beside}): "
                f"want {want:.4g}, got {got:.4g}"
            )
    return f"{len(EDGES)}² pairs of edges, and random ones"


@dataclass(frozen=True)
class Run:
    """A training run: `batch` texts of `length` tokens a step, on all `gpus` together."""

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


def _published_runs() -> list[tuple[str, Run, tuple[float, float]]]:
    """MosaicML's rows as runs on one GPU, with the MFU and HFU that they print."""
    found = []
    for row in published("mpt_h100").rows:
        run = Run(
            **{name: row[name] for name in ("parameters", "layers", "width", "length")},
            batch=1,
            step_seconds=row["length"] / row["tokens_per_s"],
            gpus=1,
            peak=989.5e12,
            checkpointing=row["hfu"] > 1.01 * row["mfu"],
        )
        found.append((f"MPT {row['model']}", run, (row["mfu"], row["hfu"])))
    return found


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
    """Random runs, then MosaicML's, whose two figures are printed with them."""
    cases = [("a run", run, _utilisation(run)) for run in (_random_run() for _ in range(40))]
    for name, run, want in [*cases, *_published_runs()]:
        got = as_numbers(as_list(mfu(run), "(MFU, HFU)"), 2)
        near = 3e-4 if name.startswith("MPT") else 1e-9  # their rates are rounded
        for word, one, wanted in zip(("MFU", "HFU"), got, want, strict=True):
            if abs(one - wanted) > near:
                raise Wrong(f"{name}, {run}: {word} want {wanted:.4g}, got {one:.4g}")
    return "random runs, and MosaicML's as they print them"


@exercise(
    "profiling.diagnose",
    todo="write diagnose(trace): what slows the run, or that it is healthy.",
    hints=(
        "Go from gap to gap: between two neighbours of lanes(trace).busy the device is idle. What "
        "did the host do as the gap began, and what did it do in most of the gap?",
        "A gap that lies mostly in loading is the DataLoader's. Else, if the host was waiting as "
        "it began (is_in), nothing could be launched ahead: the wait's. Else the launch was late.",
        "Messages cost what no computing hides: of each span of sending, what "
        "seconds_in(computing, …) leaves. Sum up each cause's seconds. The largest is the answer "
        "if it has more than a fifth of lanes(trace).seconds; else the run is healthy.",
    ),
)
def check_diagnose(diagnose: Callable[[Trace], Any]) -> str:
    """The runs that the page shows; the same in disguise; then others, on a queue and on GPUs."""
    return diagnosis.judge(diagnose)
