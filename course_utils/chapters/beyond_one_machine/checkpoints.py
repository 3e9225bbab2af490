"""Checkpoint files that can tell whether they are whole, and by how many ranks they were saved.

A file is 40 bytes of head (a mark, and the SHA-256 of the rest), then what `torch.save` wrote.
"""

import hashlib
import io
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._pytree import tree_leaves

MARK = b"COURSE01"
HEAD_BYTES = len(MARK) + hashlib.sha256().digest_size
State = dict[str, Any]


class CheckpointError(Exception):
    """A checkpoint that can't be used; the message says what to do."""


def packed(state: State, world_size: int | None = None) -> bytes:
    """Bytes of a checkpoint file, saved by `world_size` ranks (by default those of the group)."""
    buffer = io.BytesIO()
    torch.save({"world_size": world_size or dist.get_world_size(), "state": state}, buffer)
    content = buffer.getvalue()
    return MARK + hashlib.sha256(content).digest() + content


def load(path: str | Path, world_size: int | None = None) -> State:
    """Returns what was saved, tensors on the CPU. Loads numbers and containers, never code.

    With a `world_size`, one of another size is refused: some of what ranks keep (random states,
    shards) has no meaning there. Raises: CheckpointError, FileNotFoundError.
    """
    path = Path(path)
    whole = path.read_bytes()
    head, content = whole[:HEAD_BYTES], whole[HEAD_BYTES:]
    if not head.startswith(MARK):
        raise CheckpointError(f"{path.name} isn't a checkpoint of this course: save it anew.")
    if hashlib.sha256(content).digest() != head[len(MARK) :]:
        raise CheckpointError(
            f"{path.name} is cut short or damaged: its checksum doesn't match. Delete it and "
            "resume from the one before."
        )
    found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    saved: int = found["world_size"]
    if world_size not in (None, saved):
        raise CheckpointError(
            f"{path.name} was saved by {saved} ranks, and here are {world_size}. Start {saved}; "
            "or load it without world_size: weights and optimizer fit any number of ranks; the "
            f"position, counted in steps, and the {saved} random states don't."
        )
    state: State = found["state"]
    return state


def random_states() -> State:
    """State of this rank's random generators: the CPU's, and its GPU's where it has used one."""
    cuda = {"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_initialized() else {}
    return {"cpu": torch.get_rng_state(), **cuda}


def set_random_states(states: State) -> None:
    """Puts the generators back where `random_states` found them."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"])


def newest(folder: str | Path) -> Path | None:
    """Path of the last checkpoint `step-….pt` in a folder that loads; None without one."""
    for path in sorted(Path(folder).glob("step-*.pt"), reverse=True):
        try:
            load(path)
        except CheckpointError:
            continue
        return path
    return None


def all_numbers(states: Any) -> Tensor:
    """Every number of the floating-point tensors in `states`, flat, in their order.

    DTensors are gathered for it, so every rank must call it. Step counts are left out.
    """
    whole = (t.full_tensor() if isinstance(t, DTensor) else t for t in tree_leaves(states))
    kept = [t for t in whole if torch.is_tensor(t) and t.is_floating_point() and t.dim()]
    return torch.cat([t.detach().flatten() for t in kept])
