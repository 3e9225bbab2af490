"""What a student's kernel takes: memory at most and at the end, for each chapter.

    python -m tools.bench.kernel_memory [02 06 ...]

Runs each chapter in a kernel of its own, as a student would, and adds up the proportional set size
(PSS: shared pages are split among those who share them) of the kernel and all its processes, ranks
included, every quarter of a second. Linux only. Prints a Markdown table.
"""

import json
import os
import sys
import threading
import time

import nbformat
import psutil
from nbclient import NotebookClient

from course_utils.cli import notebooks
from course_utils.core import files
from course_utils.core.machine import this_machine

EVERY_SECONDS = 0.25


class Watch(threading.Thread):
    """Follows a kernel's processes until `stopped`; `peak` and `after` the last cell, in bytes."""

    def __init__(self, kernel: int) -> None:
        super().__init__(daemon=True)
        self.kernel, self.peak, self.after, self.processes = kernel, 0, 0, 0
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(EVERY_SECONDS):
            self.look()

    def look(self) -> int:
        """One reading, in bytes of PSS; a process that ends meanwhile counts nothing."""
        try:
            kernel = psutil.Process(self.kernel)
            family = [kernel, *kernel.children(recursive=True)]
        except psutil.Error:
            return 0
        found = sum(map(pss, family))
        self.peak, self.processes = max(self.peak, found), max(self.processes, len(family))
        return found


def pss(process: psutil.Process) -> int:
    """Bytes; 0 for a process that is gone."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def measure(path) -> dict[str, object]:
    """One chapter: bytes at the peak and after the last cell, processes at most, seconds."""
    watches: list[Watch] = []

    def begin(cell, cell_index) -> None:
        if not watches:
            (kernel,) = [c for c in psutil.Process().children() if is_kernel(c)]
            watches.append(Watch(kernel.pid))
            watches[0].start()

    def end(cell, cell_index, execute_reply) -> None:
        watches[0].after = watches[0].look()

    start = time.perf_counter()
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=None,
        kernel_name=notebooks.KERNEL["name"],
        allow_errors=True,
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_execute=begin,
        on_cell_executed=end,
    ).execute()
    seconds = time.perf_counter() - start
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    failed = [output.evalue for output in outputs if output.output_type == "error"]
    watch = watches[0]
    watch.stopped.set()
    watch.join()
    return {
        "chapter": path.stem,
        "peak_mb": round(watch.peak / 1e6),
        "after_mb": round(watch.after / 1e6),
        "processes": watch.processes,
        "seconds": round(seconds),
        "failed": failed,
    }


def is_kernel(process: psutil.Process) -> bool:
    return "ipykernel_launcher" in " ".join(process.cmdline())


def main(names: list[str]) -> int:
    """Prints a row for each chapter as it is measured, then the machine."""
    print("| chapter | at most, MB | after it, MB | processes | seconds |\n|---|---|---|---|---|")
    for path in [files.chapter_path(name) for name in names] or files.chapters():
        row = measure(path)
        cells = (row["chapter"], row["peak_mb"], row["after_mb"], row["processes"], row["seconds"])
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        for problem in row["failed"]:
            print(f"failed: {json.dumps(problem)}", file=sys.stderr)
    print(f"\n{this_machine()}\ncores: {os.cpu_count()}, {time.strftime('%Y-%m-%d')}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
