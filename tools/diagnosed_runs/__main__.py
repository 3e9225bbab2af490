"""Makes the traces of data/traces: the programs of `programs`, run on a queue, profiled, stored.

    python -m tools.diagnosed_runs [NAME...]

Each program runs TRIES times. Kept is the quickest run, the least disturbed by others, of those
whose cause nobody could mistake (`made_runs.is_clear`); where none is, the machine is too busy.
"""

import os
import sys
from contextlib import nullcontext
from datetime import UTC, datetime

import torch

from course_utils.chapters.profiling.made_runs import FOLDER, is_clear, shares
from course_utils.core import files
from course_utils.core.machine import this_machine
from course_utils.traces.stored import store
from course_utils.traces.trace import Trace
from tools.diagnosed_runs.messages import Messages
from tools.diagnosed_runs.programs import PROGRAMS, Program
from tools.diagnosed_runs.queue_device import Device
from tools.diagnosed_runs.recording import profiled

TRIES, WARM_UP = 7, 2
WHAT = "{}; run by a queue in place of a GPU: the device is a second thread of a CPU"


def run(program: Program) -> Trace:
    """One profiled run."""
    device = Device()
    torch.manual_seed(0)
    with Messages(device, program.lengths) if program.lengths else nullcontext() as messages:
        step = program.build(device, messages)
        return profiled(step, program.steps, WARM_UP, device.synchronize)


def quickest(program: Program) -> Trace | None:
    """Of TRIES runs the quickest whose cause is clear; None where no run's is."""
    runs = [run(program) for _ in range(TRIES)]
    clear = [trace for trace in runs if is_clear(trace, program.cause)]
    return min(clear, key=_seconds, default=None)


def _seconds(trace: Trace) -> float:
    begin, end = trace.window(0)
    return end - begin


def about(name: str, program: Program) -> dict[str, object]:
    """What the file says of a run."""
    machine = this_machine()
    return {
        "what": WHAT.format(program.what),
        "cause": program.cause,
        "shown": program.shown,
        "source": "this course",
        "licence": "MIT, as the course",
        "machine": f"{machine.processor}, {os.cpu_count()} cores, shared with others; no GPU",
        "versions": machine.versions,
        "date": str(datetime.now(UTC).date()),
        "how": f"python -m tools.diagnosed_runs {name}, the quickest of {TRIES} runs",
    }


def main(names: list[str]) -> None:
    """Writes the files of these programs, or of all. Raises: SystemExit where a run isn't clear."""
    torch.set_num_threads(1)
    for name in names or PROGRAMS:
        trace = quickest(PROGRAMS[name])
        if trace is None:
            sys.exit(f"{name}: no run of {TRIES} shows its cause alone. Is the machine busy?")
        path = files.DATA / FOLDER / f"{name}.json"
        store(trace, path, about(name, PROGRAMS[name]))
        said = ", ".join(f"{share:.0%} {what}" for what, share in shares(trace).items())
        print(f"{name}, {PROGRAMS[name].cause}: {path.stat().st_size / 1000:.0f} kB; {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
