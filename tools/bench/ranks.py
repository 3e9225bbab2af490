"""How quick ranks in a notebook are, beside other ways: `python -m tools.bench.ranks 4`.

Each contender runs in a real Jupyter kernel. A round gives every contender a fresh kernel in turn,
so that a machine that slows down slows all of them:

    kernel   seconds until an empty kernel is ready
    cold     seconds from there until the first all_reduce of all ranks is done
    both     the two together: some start their ranks with the kernel
    warm     a cell with an all_reduce: the median, and from the 10th to the 90th percentile
    restart  fresh ranks, and an all_reduce of them
    MB       proportional set size (PSS) of the kernel and all that came from it, at most
    left     processes that are there two seconds after the kernel was killed

`--peers` names a Python that has ipyparallel, jupyter-distributed and nbdistributed, best with the
same torch. Who isn't installed or fails is named with the reason. Ctrl-C shows what was found so
far. Linux only.
"""

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from pathlib import Path

import psutil
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from course_utils.core import files
from course_utils.core.machine import this_machine
from tools.bench.rank_contenders import WORKER, Contender, contenders

MARK = "COURSE_BENCH"
CELL_SECONDS = 120
PYTHON_KERNEL = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
Found = dict[str, list[float]]
UNITS = {
    "kernel": "{:.2f} s",
    "cold": "{:.2f} s",
    "both": "{:.2f} s",
    "warm": "{:.1f} ms",
    "restart": "{:.2f} s",
    "MB": "{:.0f} MB",
    "left": "{:.0f}",
}
TIMES = ("cold", "both", "warm", "restart")


class Kernel:
    """A kernel whose processes are known by a mark in their environment."""

    def __init__(self, python: str, contender: Contender, folder: str) -> None:
        self.mark = uuid.uuid4().hex
        argv = contender.argv or [python, *PYTHON_KERNEL]
        self.manager = KernelManager()
        self.manager._kernel_spec = KernelSpec(argv=argv, display_name="", language="python")
        path = os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])  # as when activated
        own = {MARK: self.mark, "PYTHONPATH": str(files.ROOT), "PATH": path}
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.manager.start_kernel(
            env={**os.environ, **own, **contender.environment}, cwd=folder, **silent
        )
        self.client = self.manager.client()
        self.client.start_channels()
        try:
            self.client.wait_for_ready(timeout=CELL_SECONDS)
        except BaseException:
            self.kill()
            raise

    def run(self, code: str) -> str:
        """What a cell printed. Raises: RuntimeError where it failed."""
        message, text = self.client.execute(code), ""
        while True:
            heard = self.client.get_iopub_msg(timeout=CELL_SECONDS)
            if heard["parent_header"].get("msg_id") != message:
                continue
            kind, content = heard["msg_type"], heard["content"]
            if kind == "error":
                raise RuntimeError(f"{content['ename']}: {content['evalue']}")
            if content.get("execution_state") == "idle":
                return text
            text += content.get("text", "") + content.get("data", {}).get("text/plain", "")

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(MARK) == self.mark and process.status() != "zombie":
                    found.append(process)
        return found

    def megabytes(self) -> float:
        """PSS of all of them, in 10^6 bytes."""
        total = 0
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
        return total / 1e6

    def kill(self) -> int:
        """Kills the kernel; how many processes are left two seconds later (they are killed too)."""
        self.client.stop_channels()
        with contextlib.suppress(psutil.Error):
            psutil.Process(self.manager.provisioner.pid).kill()
        time.sleep(2)
        left = self.processes()
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.manager.shutdown_kernel(now=True)
        return len(left)


def seconds(kernel: Kernel, cells: list[str], total: str = "") -> float:
    """How long the cells take. Raises: RuntimeError where the last one doesn't print `total`."""
    start = time.perf_counter()
    said = [kernel.run(cell) for cell in cells]
    took = time.perf_counter() - start
    if total not in said[-1]:
        raise RuntimeError(f"it printed {said[-1].strip()[-300:]!r}")
    return took


def most_megabytes(kernel: Kernel, cell: str) -> float:
    """The most memory that is seen while the cell runs."""
    found = [kernel.megabytes()]
    running = threading.Thread(target=kernel.run, args=(cell,))
    running.start()
    while running.is_alive():
        found.append(kernel.megabytes())
        time.sleep(0.2)
    return max(found)


def once(contender: Contender, options: argparse.Namespace, folder: str) -> Found:
    """A round of one contender, in a kernel of its own. Raises: RuntimeError where it can't run."""
    python = options.peers if contender.peer else sys.executable
    missing = reason(contender, python)
    if missing:
        raise RuntimeError(missing)
    start = time.perf_counter()
    kernel = Kernel(python, contender, folder)
    found: Found = {"kernel": [time.perf_counter() - start]}
    try:
        total = f"total {sum(range(options.n))}.0" if contender.says else ""
        found["cold"] = [seconds(kernel, contender.first, total)]
        found["both"] = [found["kernel"][0] + found["cold"][0]]
        times = 2 if contender.anew else options.times
        found["warm"] = [1e3 * seconds(kernel, [contender.warm]) for _ in range(times)]
        if contender.restart:
            found["restart"] = [seconds(kernel, contender.restart)]
        found["MB"] = [most_megabytes(kernel, contender.hold)]
    finally:
        left = kernel.kill()
    return found | {"left": [left]}


def reason(contender: Contender, python: str) -> str:
    """Why it can't run, or nothing."""
    known = {**os.environ, "PYTHONPATH": str(files.ROOT)}
    command = [python, "-c", f"import {contender.needs}"]
    ran = subprocess.run(command, capture_output=True, text=True, env=known)
    return ran.stderr.strip().rpartition("\n")[2] if ran.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("n", nargs="?", type=int, default=4, help="ranks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=50, help="warm cells in a round")
    parser.add_argument("--peers", default=sys.executable, help="a Python that has the peers")
    parser.add_argument("--only", help="names of contenders, with commas")
    options = parser.parse_args()
    print(f"{this_machine().title}, {this_machine().versions}, {options.n} ranks", flush=True)
    found, failed = race(options)
    print(table(found))
    for name, why in failed.items():
        print(f"{name} has no row: {why}")
    return 0


def race(options: argparse.Namespace) -> tuple[dict[str, Found], dict[str, str]]:
    """All rounds: what was measured by contender, and why others weren't."""
    field = contenders(options.n, options.peers)
    if options.only:
        field = [one for one in field if one.name in options.only.split(",")]
    found: dict[str, Found] = {one.name: defaultdict(list) for one in field}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        Path(folder, "worker.py").write_text(WORKER)
        for _ in range(options.rounds):
            for one in random.sample(field, len(field)):
                if one.name not in failed:
                    _add(found[one.name], one, options, folder, failed)
    return {name: values for name, values in found.items() if values}, failed


def _add(
    kept: Found, one: Contender, options: argparse.Namespace, folder: str, failed: dict[str, str]
) -> None:
    """Another round of a contender, or why there is none."""
    try:
        new = once(one, options, folder)
    except Exception as error:
        failed[one.name] = f"{type(error).__name__}: {error}"
        return
    for column, values in new.items():
        kept[column] += values


def table(found: dict[str, Found]) -> str:
    """A row for each contender, as Markdown; how many times as long as the first took it."""
    ours = next(iter(found.values()), {})
    lines = ["| | " + " | ".join(UNITS) + " |", "|---" * (len(UNITS) + 1) + "|"]
    for name, values in found.items():
        shown = [cell(column, values[column], ours.get(column, [])) for column in UNITS]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def cell(column: str, values: list[float], ours: list[float]) -> str:
    """The median; of times also the spread, and the ratio to ours."""
    if not values:
        return "–"
    shown = UNITS[column].format
    middle, ordered = statistics.median(values), sorted(values)
    if column not in TIMES:
        return shown(middle)
    tenth = len(values) // 10
    times = f", {middle / statistics.median(ours):.1f}×" if ours and ours is not values else ""
    return f"{shown(middle)} ({ordered[tenth]:.4g}–{ordered[-1 - tenth]:.4g}){times}"


if __name__ == "__main__":
    sys.exit(main())
