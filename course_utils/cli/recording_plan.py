"""What `make record` has to do on this machine, in which order, and about how long it takes."""

import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from course_utils.core import evidence
from course_utils.core.gpus import Specs, gpu_specs
from course_utils.core.machine import this_machine
from course_utils.core.measured_code import code_of

COMPUTES, READS = 0.5, 0.7  # shares of the data sheet's peaks that the estimates count on
PROCESS_SECONDS = 6  # a new process that imports torch and opens a context
UNKNOWN = "T4"  # a GPU that isn't in the table counts as this: later is better than too late
MARGIN_SECONDS = 10  # what ends a run: the kernel goes, the archive is made
Work = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """One experiment on this machine: why it is to be measured, or nothing where it needn't be."""

    name: str
    worth: int
    seconds: float
    reason: str


@dataclass(frozen=True)
class Visit:
    """A chapter to be run, its page's own seconds, and its experiments that this machine can do."""

    path: Path
    page_seconds: float
    experiments: tuple[Experiment, ...]

    @cached_property
    def to_do(self) -> tuple[Experiment, ...]:
        return tuple(e for e in self.experiments if e.reason)

    @property
    def seconds(self) -> float:
        """About how long it takes: the page, and each experiment that isn't done."""
        return self.page_seconds + sum(e.seconds for e in self.to_do)

    @property
    def worth_per_second(self) -> float:
        return sum(e.worth for e in self.to_do) / self.seconds

    def __str__(self) -> str:
        reasons = sorted({e.reason for e in self.to_do})
        counted = [f"{sum(e.reason == r for e in self.to_do)} {r}" for r in reasons]
        state = ", ".join(counted) or "all recorded by this code"
        return f"{self.path.stem:<28} ≈ {self.seconds:3.0f} s   {state}"


def plan(chapters: list[Path], to: Path, again: bool = False) -> list[Visit]:
    """The chapters in the order of what they are worth a second, those with nothing to do last.

    The worth of an experiment stands in data/recording_plan.json: 3 for what only a GPU of our own
    can show, 2 for what stands beside somebody's published figure, 1 for what confirms. A visit
    that ends early has then brought home the most. With `again`, what is recorded is recorded anew.
    """
    visits = [_visit(path, to / this_machine().slug, again) for path in chapters]
    return sorted(visits, key=lambda visit: -visit.worth_per_second)


def _visit(path: Path, folder: Path, again: bool) -> Visit:
    planned = planned_work()[path.stem]
    here = [name for name, work in planned["experiments"].items() if _can(work)]
    experiments = (
        Experiment(
            name,
            planned["experiments"][name]["worth"],
            seconds_of(planned["experiments"][name], _specs()),
            "to do again" if again else state(path.stem, name, folder),
        )
        for name in here
    )
    return Visit(path, planned["page_seconds"], tuple(experiments))


def planned_work() -> dict[str, Any]:
    """data/recording_plan.json: by chapter the page's seconds, and each experiment's work."""
    return evidence.data("recording_plan.json")


def state(chapter: str, name: str, folder: Path) -> str:
    """Why an experiment is to be measured ("missing", "older than its code", ...), or ""."""
    path = folder / chapter / f"{name}.json"
    if not path.exists():
        return "missing"
    try:
        content = evidence.read_recording(path, evidence.find_experiment(f"{chapter}/{name}"))
    except evidence.EvidenceError:
        return "not readable"
    if content.get("missing_rows"):
        return "unfinished"
    return "" if content.get("code") == code_of(chapter, name) else "older than its code"


def seconds_of(work: Work, specs: Specs | None) -> float:
    """About how long an experiment takes on a GPU: its operations, bytes and processes.

    `flops` by format, `bytes` of GPU memory, `link_bytes` between host and GPU, `processes` that
    start, and `seconds` that pass anyway (a clock's budgets, work of the processor).
    """
    seconds: float = work.get("seconds", 0) + PROCESS_SECONDS * work.get("processes", 0)
    if specs is None:
        return seconds
    for name, flops in work.get("flops", {}).items():
        seconds += flops / ((getattr(specs, name) or specs.fp32) * 1e12 * COMPUTES)
    seconds += work.get("bytes", 0) / (specs.memory_gb_per_s * 1e9 * READS)
    one_way = specs.host_link_gb_per_s / 2
    return seconds + work.get("link_bytes", 0) / (one_way * 1e9 * READS)


def _specs() -> Specs | None:
    gpus = this_machine().gpus
    return (gpu_specs(gpus[0].name) or gpu_specs(UNKNOWN)) if gpus else None


def count_needed(work: Work) -> int:
    """The GPUs that an experiment needs: its `needs` is nothing, "gpu" or "gpus:2"."""
    needs: str = work.get("needs") or ""
    return int(needs.partition(":")[2] or 1) if needs else 0


def has_program(work: Work) -> bool:
    """Whether PATH has one of the `programs` that an experiment names, or it names none."""
    return "programs" not in work or any(map(shutil.which, work["programs"]))


def _can(work: Work) -> bool:
    """Whether this machine has the GPUs for an experiment, of the `capability` that it needs.

    And one of the `programs`, where it names some.
    """
    gpus = this_machine().gpus
    able = [gpu for gpu in gpus if gpu.capability >= tuple(work.get("capability", (0, 0)))]
    return len(able) >= count_needed(work) and has_program(work)


def in_words(visits: list[Visit], minutes: float | None) -> str:
    """What will be done, in order, with the estimates."""
    to_do = [visit for visit in visits if visit.to_do]
    total = sum(visit.seconds for visit in to_do)
    cores = f", {os.cpu_count()} cores"
    title = (
        f"On {this_machine().title}{cores}: {len(to_do)} chapters to record, ≈ {total / 60:.0f} min"
    )
    given = f", of which you give {minutes:g}" if minutes else ""
    why = (
        "The first give the most for their time (data/recording_plan.json says what each is worth)."
    )
    return "\n".join([f"{title}{given}.", why, *(f"  {visit}" for visit in visits)])
