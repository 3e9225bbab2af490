"""Who can run a cell on many ranks: what a reader types with each, for `tools.bench.ranks`.

Every contender's cells run in a Jupyter kernel of its own, those of `first` before anything else.
Those that start processes for each cell start them from a file, WORKER.
"""

from dataclasses import dataclass, field

SUM = "x = torch.ones(2) * rank\ndist.all_reduce(x)\n"
SHOW = "print(f'total {x[0].item()}')\n"
HOLD = "import time\ntime.sleep(2)\n"
IMPORT = "import os, time, torch, torch.distributed as dist\n"
IMPORT += "os.environ['GLOO_SOCKET_IFNAME'] = 'lo'\n"
JOIN = "dist.init_process_group('gloo', init_method='file://' + store, rank=rank, world_size=n)\n"
STORE = "tempfile.gettempdir() + '/bench-' + uuid.uuid4().hex"
WORKER = f"""{IMPORT}
def main(rank, n, store, hold):
    {JOIN.strip()}
    x = torch.ones(2) * rank
    dist.all_reduce(x)
    {SHOW.strip()}
    time.sleep(hold)
    dist.destroy_process_group()


if __name__ == "__main__":
    import sys

    main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1], float(sys.argv[2]))
"""

ASK = """%%capture
magics = get_ipython().magics_manager.registry["DistributedMagic"]
for _ in range(100):
    try:
        magics._comm_manager.send_to_all("execute", "1", timeout=0.3)
        break
    except TimeoutError:
        pass
"""


@dataclass
class Contender:
    """`first`: cells from an empty kernel to an all_reduce; `warm`: the same once more.

    `hold` stays for two seconds after it, and `restart` gets fresh ranks. `needs` is the module
    that must be installed, in the Python of the peers where it is a `peer`; `argv` starts a kernel
    that isn't IPython's. `anew` is who starts processes for every cell; `says` is whether `first`
    prints the total, so that it can be checked (the others fail by themselves).
    """

    name: str
    first: list[str]
    warm: str
    hold: str
    restart: list[str] = field(default_factory=list)
    needs: str = "torch"
    argv: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    peer: bool = True
    anew: bool = False
    says: bool = True


def contenders(n: int, python: str) -> list[Contender]:
    """All of them, for `n` ranks, this package first; `python` is the one that has the peers."""
    return [
        ours(n),
        ipyparallel(n),
        jupyter_distributed(n, python),
        nbdistributed(n),
        torchrun(n),
        spawned(n),
        forked(n),
    ]


def ours(n: int) -> Contender:
    return Contender(
        "%%ranks",
        ["%load_ext course_utils", f"%%ranks {n}\n{SUM}{SHOW}"],
        f"%%ranks\n{SUM}",
        f"%%ranks\n{SUM}{HOLD}",
        ["from course_utils import ranks\nranks.restart()", f"%%ranks\n{SUM}"],
        needs="course_utils",
        peer=False,
    )


def ipyparallel(n: int) -> Contender:
    start = (
        "import ipyparallel, tempfile, uuid\n"
        f"cluster = ipyparallel.Cluster(n={n}, log_level=50)\n"
        "client = cluster.start_and_connect_sync()\nview = client[:]\n"
        "view.block = True\nview.activate()\n"
        f"view.scatter('rank', range({n}), flatten=True, block=True)\n"
        f"view.push(dict(n={n}, store={STORE}), block=True)"
    )
    first = [start, f"%%px\n{IMPORT}{JOIN}{SUM}{SHOW}"]
    stop = "cluster.stop_cluster_sync()"
    warm, hold = f"%%px\n{SUM}", f"%%px\n{SUM}{HOLD}"
    return Contender("ipyparallel", first, warm, hold, [stop, *first], needs="ipyparallel")


def jupyter_distributed(n: int, python: str) -> Contender:
    """Its ranks are kernels, which start with the notebook's."""
    init = "dist.init_process_group('gloo')\nrank = dist.get_rank()\n"
    return Contender(
        "jupyter-distributed",
        [f"{IMPORT}{init}{SUM}{SHOW}"],
        SUM,
        f"{SUM}{HOLD}",
        needs="jupyter_distributed",
        argv=[python, "-m", "jupyter_distributed.kernel", "-f", "{connection_file}"],
        environment={"JUPYTER_DISTRIBUTED_WORLD_SIZE": str(n)},
    )


def nbdistributed(n: int) -> Contender:
    """Its `%dist_init` returns too early, and a cell that comes then is lost: one asks before."""
    cell = f"%%distributed\n{SUM}"
    start = [f"%dist_init -n {n}", ASK, f"{cell}{SHOW}"]
    return Contender(
        "nbdistributed",
        ["%load_ext nbdistributed", *start],
        cell,
        f"{cell}{HOLD}",
        ["%dist_shutdown", *start],
        needs="nbdistributed",
    )


def torchrun(n: int) -> Contender:
    command = f"-m torch.distributed.run --standalone --nproc-per-node {n} worker.py"
    cell = (
        f"ran = subprocess.run([sys.executable, *'{command}'.split(), {STORE}, str(hold)], "
        "capture_output=True, text=True, check=True)"
    )
    return _by_file("torchrun", cell, "print(ran.stdout)")


def spawned(n: int) -> Contender:
    return _by_file("mp.spawn", f"mp.spawn(worker.main, ({n}, {STORE}, hold), nprocs={n})")


def forked(n: int) -> Contender:
    call = f"mp.start_processes(worker.main, ({n}, {STORE}, hold), nprocs={n}, start_method='fork')"
    return _by_file("mp fork", call)


def _by_file(name: str, cell: str, show: str = "") -> Contender:
    """One that starts everything anew for each cell."""
    imports = "import subprocess, sys, tempfile, uuid\nhold = 0\nsys.path.insert(0, '')\n"
    if not show:
        imports += "import torch.multiprocessing as mp, worker\n"
    first, hold = [f"{imports}{cell}\n{show}"], f"hold = 2\n{cell}\nhold = 0"
    return Contender(name, first, cell, hold, peer=False, anew=True, says=bool(show))
