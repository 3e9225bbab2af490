"""`%%ranks --save`: cells as a script that torchrun runs."""

import ast
import builtins
from collections.abc import Collection, Sequence
from pathlib import Path

from notebook_ranks.watch.report import RanksError

FIRST_LINE = '"""Cells of a notebook as a script. Run it: torchrun --nproc-per-node {n} {name}"""'
MARK = FIRST_LINE.partition("{")[0]
OPENING = """
import os
import random

if "RANK" not in os.environ:
    raise SystemExit("No rank was given. Start it so: torchrun --nproc-per-node {n} {name}")

import numpy
import torch
import torch.distributed as dist

rank, world_size, local_rank = (
    int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")
)
own_gpu = {own_gpu}
device = torch.device("cuda", local_rank) if own_gpu else torch.device("cpu")
if own_gpu:
    torch.cuda.set_device(device)
random.seed(rank)
numpy.random.seed(rank)
torch.manual_seed(rank)
"""
OWN_GPU = 'torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])'
INIT = "dist.init_process_group()  # by the tensor's device: gloo on the CPU, NCCL on GPUs\n"
PROVIDED = {"torch", "dist", "rank", "world_size", "local_rank", "device", *dir(builtins)}
ENDING = """
if dist.is_initialized():
    dist.barrier()  # else a rank may close its connections while another still connects
    dist.destroy_process_group()
"""


def save(
    path: Path,
    source: str,
    earlier: Sequence[str],
    n: int,
    on_cpu: bool = False,
    given: Collection[str] = (),
) -> None:
    """Writes a cell, and those earlier ones whose names it needs, as a script.

    `given` are the names that the notebook pushed to its ranks, which no script can know.
    Raises: RanksError where the cell needs one of those, or where another file has that name.
    """
    if path.exists() and not path.read_text(encoding="utf-8").startswith(MARK):
        raise RanksError(f"{path} isn't a script of %%ranks and stays. Choose another name.")
    cells = [*needed(earlier, source), source]
    pushed = set(given) & set().union(*map(_names, cells))
    if pushed:
        raise RanksError(
            f"Nothing was saved: {', '.join(sorted(pushed))} came by ranks.push, which a script "
            "hasn't got. Make it in a %%ranks cell."
        )
    head = FIRST_LINE.format(n=n, name=path.name)
    opening = OPENING.format(n=n, name=path.name, own_gpu="False" if on_cpu else OWN_GPU) + (
        "" if any("init_process_group" in cell for cell in cells) else INIT
    )
    body = "\n\n".join(_shown(cell).strip("\n") for cell in cells)
    path.write_text(f"{head}\n{opening}\n{body}\n{ENDING}", encoding="utf-8")


def needed(earlier: Sequence[str], source: str) -> list[str]:
    """The earlier cells that make, change or use a name that matters to the source."""
    kept, wanted, before = list[str](), _names(source), set[str]()
    while wanted != before:
        kept, before = [cell for cell in earlier if _names(cell) & wanted], wanted
        wanted = wanted.union(*map(_names, kept))
    return kept


def _names(source: str) -> set[str]:
    """The names that a cell makes or uses, but for those that every cell has."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
    return found - PROVIDED


def _shown(source: str) -> str:
    """The source with its last expression printed, as the notebook shows it."""
    body = ast.parse(source).body
    if not body or not isinstance(body[-1], ast.Expr):
        return source
    last, lines = body[-1], source.splitlines()
    before = lines[last.lineno - 1].encode()[: last.col_offset].decode()
    shown = [f"{before}_ = {ast.unparse(last.value)}", "if _ is not None:", "    print(repr(_))"]
    return "\n".join([*lines[: last.lineno - 1], *shown])
