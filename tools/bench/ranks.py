"""How quick ranks are, beside mp.spawn and ipyparallel: `python -m tools.bench.ranks 4`.

ipyparallel is compared where it can be imported (PYTHONPATH may name a folder that has it).
Seconds are those until an all_reduce of all ranks is done. Each number is the median of several.
"""

import argparse
import contextlib
import io
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CELL = "x = torch.ones(2) * rank\ndist.all_reduce(x)"
JOIN = """
import os, torch, torch.distributed as dist
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
dist.init_process_group("gloo", store=dist.FileStore(folder, n), rank=rank, world_size=n)
"""
Row = dict[str, float | None]


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        work()
    return time.perf_counter() - start


def median(work: Callable[[], Any], times: int) -> float:
    return statistics.median(seconds(work) for _ in range(times))


def bench_ours(n: int, times: int) -> Row:
    from course_utils import ranks

    def cold() -> None:
        ranks.stop()
        ranks.run_cell(CELL, n)

    def restarted() -> None:
        ranks.restart()
        ranks.run_cell(CELL)

    found: Row = {"cold": median(cold, max(3, times // 10))}
    found["warm"] = median(lambda: ranks.run_cell(CELL), times)
    found["restart"] = median(restarted, max(3, times // 5))
    found["MB a rank"] = statistics.median(own_megabytes(pid) for pid in ranks.run(os.getpid))
    ranks.stop()
    return found | {"left after kill -9": left_after_kill(OURS_ALONE.format(n=n))}


def own_megabytes(pid: int) -> float:
    """Memory that a process shares with nobody, in 10^6 bytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024 / 1e6


OURS_ALONE = "from course_utils import ranks; ranks.start({n})"
IPYPARALLEL_ALONE = (
    "import ipyparallel as p; p.Cluster(n={n}, log_level=50).start_and_connect_sync()"
)


def left_after_kill(code: str) -> float:
    """Processes that a Python leaves when it is killed, a second later."""
    mark = f"COURSE_BENCH={os.urandom(8).hex()}"
    name, value = mark.split("=")
    alone = f"import time\n{code}\nprint('ready', flush=True)\ntime.sleep(1000)"
    process = subprocess.Popen(
        [sys.executable, "-c", alone], env={**os.environ, name: value}, stdout=subprocess.PIPE,
        start_new_session=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout
    while b"ready" not in process.stdout.readline():
        pass
    process.kill()
    process.wait()
    time.sleep(1)
    left = marked(mark)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(left)


def marked(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def spawned(rank: int, n: int, folder: str) -> None:
    names: dict[str, Any] = {"rank": rank, "n": n, "folder": folder}
    exec(JOIN + CELL, names)


def bench_spawn(n: int, times: int) -> Row:
    import torch.multiprocessing as mp

    def once() -> None:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(spawned, (n, f"{folder}/store"), nprocs=n)

    every = median(once, max(3, times // 10))
    return {"cold": every, "warm": every, "restart": every}


def bench_ipyparallel(n: int, times: int) -> Row:
    import ipyparallel

    cluster: list[Any] = []

    def cold() -> None:
        stop()
        cluster[:] = [ipyparallel.Cluster(n=n, log_level=50)]
        view = cluster[0].start_and_connect_sync()[:]
        view.scatter("rank", range(n), flatten=True, block=True)
        view.push({"n": n, "folder": tempfile.mktemp()}, block=True)
        view.execute(JOIN + CELL, block=True)
        cluster.append(view)

    def stop() -> None:
        if cluster:
            cluster[0].stop_cluster_sync()

    found: Row = {"cold": seconds(cold)}
    found["warm"] = median(lambda: cluster[1].execute(CELL, block=True), times)
    found["restart"] = seconds(cold)
    pids = cluster[1].apply_sync(os.getpid)
    found["MB a rank"] = statistics.median(own_megabytes(pid) for pid in pids)
    stop()
    return found | {"left after kill -9": left_after_kill(IPYPARALLEL_ALONE.format(n=n))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=4, help="ranks")
    parser.add_argument("--times", type=int, default=50, help="warm cells to time")
    options = parser.parse_args()
    from course_utils.core.machine import this_machine

    print(f"{this_machine().title}, {this_machine().versions}, {options.n} ranks")
    rows = {}
    for name, bench in (
        ("this course", bench_ours),
        ("mp.spawn", bench_spawn),
        ("ipyparallel", bench_ipyparallel),
    ):
        try:
            rows[name] = bench(options.n, options.times)
        except ImportError:
            print(f"{name} can't be imported here")
    columns = list(rows["this course"])
    print(f"{'':14}" + "".join(f"{c:>20}" for c in columns))
    for name, row in rows.items():
        print(
            f"{name:14}"
            + "".join(f"{shown(row.get(c), rows['this course'][c], c):>20}" for c in columns)
        )


def shown(value: float | None, ours: float | None, column: str) -> str:
    if value is None:
        return "–"
    if column in ("MB a rank", "left after kill -9"):
        return f"{value:.0f}"
    ratio = f" ({value / ours:.1f}×)" if ours and value != ours else ""
    return f"{value * 1e3:.1f} ms{ratio}"


if __name__ == "__main__":
    main()
