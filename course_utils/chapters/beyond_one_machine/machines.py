"""Launchers and links of more than one machine, on one: what `make launchers` measures.

Slurm's virtual nodes are started by tools/launchers.sh; here two network namespaces are two
machines, joined by a link whose rate `tc` limits. Both want root and Debian's packages, so each
function returns no rows where `make launchers` hasn't prepared them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from course_utils.core import files

ONEBOX = "onebox"  # a program that tools/launchers.sh puts on PATH while Slurm runs
SCRIPTS = Path(__file__).parent / "scripts"
LIMIT_SECONDS = 180
SAID = re.compile(r"rank (\d+) of (\d+), local rank (\d+): the ranks sum to (\d+)")
AS_RANK = f"bash {SCRIPTS / 'as_rank.sh'} {sys.executable}"
COMMANDS = {  # four ranks each; a node has two cores here, so both may take more
    "torchrun": f"{sys.executable} -m torch.distributed.run --standalone --nproc-per-node 4",
    "mpirun": f"mpirun --allow-run-as-root --oversubscribe -n 4 {AS_RANK}",
    "srun": f"srun -N2 --ntasks-per-node=2 --overcommit {AS_RANK}",
    "sbatch, a task per rank": "sbatch ranks_by_srun.sbatch",
    "sbatch, a torchrun per node": "sbatch agents_by_srun.sbatch",
}
VERSIONS = {"mpirun": "mpirun --version", "srun": "srun --version", "sbatch": "sbatch --version"}
ADDRESSES = {"one": "10.9.0.1", "two": "10.9.0.2"}  # of the two machines
# Of a batch script, what isn't so here: the virtual nodes are one machine.
NOT_HERE = ("--gpus-per-node", "--cpus-per-task", "CPUS_PER_TASK", "--output", "--time")
FIRST_NODE = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'


def script(name: str) -> str:
    """Text of a script to take home: as_rank.sh, ranks_by_srun.sbatch or agents_by_srun.sbatch."""
    return (SCRIPTS / name).read_text(encoding="utf-8")


def launcher_rows(program: str | Path) -> list[dict[str, Any]]:
    """Starts `program` by each launcher; a row per rank: what it was told, and the ranks' sum."""
    rows = []
    for number, (launcher, command) in enumerate(COMMANDS.items() if _prepared() else ()):
        environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(29600 + number)}
        if command.startswith("sbatch"):
            said = _batch(command.split()[1], Path(program), environment)
        else:
            said = _output([*command.split(), str(program)], environment)
        found = sorted(tuple(map(int, numbers)) for numbers in SAID.findall(said))
        rows += [
            {"launcher": launcher, "version": _version(launcher), "rank": rank,
             "local_rank": local, "world_size": size, "sum": total}
            for rank, size, local, total in found
        ]  # fmt: skip
    return rows


def link_rows(program: str | Path, mbit_per_s: int, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Rows that `program` prints on rank 0 of two machines, without a limit and with one.

    It's started by a torchrun agent on each; its arguments are `sizes`.
    """
    rows = []
    for limit in (None, mbit_per_s) if _prepared() else ():
        with _two_machines(limit):
            agents = [_agent(machine, "2", program, *map(str, sizes)) for machine in ADDRESSES]
            said = "".join(agent.communicate(timeout=LIMIT_SECONDS)[0] for agent in agents)
        rows += [{"mbit_per_s": limit, **row} for row in _json_lines(said)]
    return rows


def member_rows(program: str | Path) -> list[dict[str, Any]]:
    """Runs `program` while a machine joins and is lost: a row for each of its starts.

    The event before it, seconds since that event, the world size, the restart count. The second
    machine is lost twice: its processes are killed, and later its link is cut.
    """
    if not _prepared():
        return []
    with _two_machines(None):
        begun, stays = [time.time()], _agent("one", "1:2", program)
        for seconds, event in (
            (20, partial(_agent, "two", "1:2", program)),
            (25, partial(_end, "two")),
            (40, partial(_agent, "two", "1:2", program)),
            (25, partial(_ip, "-n two link set to-two down")),
        ):
            time.sleep(seconds)
            begun.append(time.time())
            event()
        time.sleep(120)
        _end("one")
        rows = _json_lines(stays.communicate(timeout=LIMIT_SECONDS)[0])
    joins = "a second machine joins"
    events = ["the first machine starts", joins, "it is killed", joins, "its link is cut"]
    return [
        {"event": event, "restarted_after_seconds": row.pop("at") - at, **row}
        for event, at, row in zip(events, begun, rows, strict=False)
    ]


def _prepared() -> bool:
    return shutil.which(ONEBOX) is not None


def _environment(extra: dict[str, str]) -> dict[str, str]:
    own = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{own.get('PATH', '')}"
    return own | {"PATH": path, "PYTHONPATH": files.python_path(), "OMP_NUM_THREADS": "1"} | extra


def _output(command: list[str], environment: dict[str, str], folder: Path | None = None) -> str:
    """The output of a command, or its last line on why it failed."""
    try:
        done = subprocess.run(
            command, env=_environment(environment), cwd=folder, timeout=LIMIT_SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    return done.stdout + done.stderr


def _batch(name: str, program: Path, environment: dict[str, str]) -> str:
    """The log of a batch job on two virtual nodes, without its lines of GPUs and CPUs."""
    lines = script(name).replace(FIRST_NODE, "127.0.0.1").splitlines()
    kept = [line for line in lines if not any(option in line for option in NOT_HERE)]
    job = program.parent / name
    log = job.with_suffix(".log")
    job.write_text("\n".join(kept) + "\n", encoding="utf-8")
    (program.parent / "as_rank.sh").write_text(script("as_rank.sh"), encoding="utf-8")
    words = f"sbatch --parsable --overcommit --time=10 --output={log} {job} {program}"
    number = _output(words.split(), environment, program.parent).strip()
    end = time.monotonic() + LIMIT_SECONDS  # `sbatch --wait` notices an end up to a minute late
    while time.monotonic() < end and _output(["squeue", "--noheader", f"--jobs={number}"], {}):
        time.sleep(1)
    return log.read_text(encoding="utf-8") if log.exists() else number


def _version(launcher: str) -> str:
    if launcher == "torchrun":
        return ""
    return _output(VERSIONS[launcher.split(",")[0]].split(), {}).splitlines()[0]


@contextmanager
def _two_machines(mbit_per_s: int | None) -> Iterator[None]:
    """Two network namespaces joined by a link; on leaving, all that runs in them is killed."""
    first, second = ADDRESSES
    try:
        for machine in ADDRESSES:
            _ip(f"netns add {machine}")
        _ip(f"link add to-{first} type veth peer name to-{second}")
        for machine, address in ADDRESSES.items():
            _ip(f"link set to-{machine} netns {machine}")
            _ip(f"-n {machine} addr add {address}/24 dev to-{machine}")
            for device in (f"to-{machine}", "lo"):
                _ip(f"-n {machine} link set {device} up")
            if mbit_per_s:
                limit = f"tbf rate {mbit_per_s}mbit burst 32kbit latency 400ms"
                _ip(f"netns exec {machine} tc qdisc add dev to-{machine} root {limit}")
        yield
    finally:
        for machine in ADDRESSES:
            _end(machine)
            subprocess.run(["ip", "netns", "delete", machine], check=False, capture_output=True)


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)


def _end(machine: str) -> None:
    """Kills every process of a machine, as a power cut would."""
    found = subprocess.run(
        ["ip", "netns", "pids", machine], capture_output=True, text=True, check=False
    )
    if found.stdout.split():
        subprocess.run(["kill", "-9", *found.stdout.split()], check=False)


def _agent(machine: str, nnodes: str, program: str | Path, *words: str) -> "subprocess.Popen[str]":
    """A torchrun agent with one rank on a machine. The first machine is where they meet."""
    first, address = next(iter(ADDRESSES)), ADDRESSES[machine]
    is_host = int(machine == first)  # torchrun compares host names, and both machines have one
    return subprocess.Popen(
        ["ip", "netns", "exec", machine, *COMMANDS["torchrun"].split()[:3],
         "--nnodes", nnodes, "--nproc-per-node", "1", "--max-restarts", "3", "--rdzv-id", "course",
         "--rdzv-backend", "c10d", "--rdzv-endpoint", f"{ADDRESSES[first]}:29400",
         "--rdzv-conf", f"is_host={is_host},last_call_timeout=2", "--local-addr", address,
         str(program), *words],
        env=_environment({"GLOO_SOCKET_IFNAME": f"to-{machine}",
                          "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def _json_lines(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]
