"""How quick ranks in a notebook are: `python -m tools.bench.ranks 4`, beside torchrun.

Each way runs in a Jupyter kernel of its own. A round gives each a fresh kernel in turn, so that a
machine that slows down slows both. torchrun starts its ranks anew for every cell:

    kernel   seconds until an empty kernel is ready
    cold     seconds from there until the first all_reduce of all ranks is done
    warm     a cell with an all_reduce, in milliseconds
    restart  fresh ranks, and an all_reduce of them
    MB       proportional set size (PSS) of the kernel and all that came from it, at most
    left     processes that are there two seconds after the kernel was killed

Medians, from the 10th to the 90th percentile; then how many times as long as ours. Linux only.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict

import psutil
from jupyter_client.manager import KernelManager

from course_utils.core import files
from course_utils.core.machine import this_machine

MARK = "COURSE_BENCH"
CELL_SECONDS = 120
SUM = "x = torch.ones(2) * rank\ndist.all_reduce(x)\n"
OURS = {
    "cold": ["%load_ext course_utils", f"%%ranks {{n}}\n{SUM}print(x)"],
    "warm": [f"%%ranks\n{SUM}"],
    "restart": ["from course_utils import ranks\nranks.restart()", f"%%ranks\n{SUM}"],
    "hold": [f"%%ranks\n{SUM}import time\ntime.sleep(2)"],
}
PROGRAM = f"""import sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
{SUM}time.sleep(float(sys.argv[1]))
dist.destroy_process_group()
"""
TORCHRUN = (
    "import subprocess, sys\n"
    "command = '-m torch.distributed.run --standalone --nproc-per-node {{n}} program.py {hold}'\n"
    "subprocess.run([sys.executable, *command.split()], capture_output=True, check=True)"
)
ANEW = [TORCHRUN.format(hold=0)]
WAYS = {
    "%%ranks": OURS,
    "torchrun": {"cold": ANEW, "warm": ANEW, "hold": [TORCHRUN.format(hold=2)]},
}
UNITS = {"kernel": "s", "cold": "s", "warm": "ms", "restart": "s", "MB": "MB", "left": ""}


class Kernel:
    """A kernel whose processes are known by a mark in their environment."""

    def __init__(self, folder: str) -> None:
        self.mark = uuid.uuid4().hex
        self.manager = KernelManager()
        own = {MARK: self.mark, "PYTHONPATH": files.python_path(), "GLOO_SOCKET_IFNAME": "lo"}
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.manager.start_kernel(env={**os.environ, **own}, cwd=folder, **silent)
        self.client = self.manager.client()
        self.client.start_channels()
        try:
            self.client.wait_for_ready(timeout=CELL_SECONDS)
        except BaseException:
            self.kill()
            raise

    def run(self, code: str) -> str:
        """Runs a cell and returns what it printed. Raises: RuntimeError where it failed."""
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


def seconds(kernel: Kernel, cells: list[str]) -> float:
    """Times the cells. Raises: RuntimeError where one fails."""
    start = time.perf_counter()
    for one in cells:
        kernel.run(one)
    return time.perf_counter() - start


def most_megabytes(kernel: Kernel, cells: list[str]) -> float:
    """The most memory that is seen while the cells run."""
    found = [kernel.megabytes()]
    running = threading.Thread(target=seconds, args=(kernel, cells))
    running.start()
    while running.is_alive():
        found.append(kernel.megabytes())
        time.sleep(0.2)
    return max(found)


def once(way: dict[str, list[str]], n: int, times: int, folder: str) -> dict[str, list[float]]:
    """A round of one way, in a kernel of its own."""
    cells = {what: [one.replace("{n}", str(n)) for one in code] for what, code in way.items()}
    start = time.perf_counter()
    kernel = Kernel(folder)
    found = {"kernel": [time.perf_counter() - start]}
    try:
        found["cold"] = [seconds(kernel, cells["cold"])]
        warm = times if "restart" in cells else 2
        found["warm"] = [1e3 * seconds(kernel, cells["warm"]) for _ in range(warm)]
        if "restart" in cells:
            found["restart"] = [seconds(kernel, cells["restart"])]
        found["MB"] = [most_megabytes(kernel, cells["hold"])]
    finally:
        left = kernel.kill()
    return found | {"left": [left]}


def main() -> None:
    """Prints a table in Markdown; Ctrl-C shows what was found so far."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("n", nargs="?", type=int, default=4, help="ranks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=50, help="warm cells in a round")
    asked = parser.parse_args()
    print(f"{this_machine().title}, {this_machine().versions}, {asked.n} ranks", flush=True)
    found: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in WAYS}
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        with open(os.path.join(folder, "program.py"), "w") as program:
            program.write(PROGRAM)
        for _ in range(asked.rounds):
            for name, way in WAYS.items():
                for column, values in once(way, asked.n, asked.times, folder).items():
                    found[name][column] += values
    print("| | " + " | ".join(UNITS) + " |\n" + "|---" * (len(UNITS) + 1) + "|")
    for name, values in found.items():
        shown = [
            cell(values[column], unit, found["%%ranks"][column]) for column, unit in UNITS.items()
        ]
        print(f"| {name} | " + " | ".join(shown) + " |")


def cell(values: list[float], unit: str, ours: list[float]) -> str:
    """The median and the spread, and the ratio to ours."""
    if not values:
        return "–"
    ordered, middle = sorted(values), statistics.median(values)
    tenth = len(values) // 10
    base = 0 if ours is values or not ours else statistics.median(ours)
    ratio = f", {middle / base:.1f}×" if base else ""
    return f"{middle:.3g} {unit} ({ordered[tenth]:.3g}–{ordered[-1 - tenth]:.3g}){ratio}"


if __name__ == "__main__":
    sys.exit(main())
