"""Checkpoints that are written whole or not at all, and that say what is wrong with them.

A file is 40 bytes of head (a mark, and the SHA-256 of the rest), then what `torch.save` wrote.
"""

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import torch

from course_utils.core import files

MARK = b"COURSE01"
HEAD_BYTES = len(MARK) + hashlib.sha256().digest_size
State = dict[str, Any]


class CheckpointError(Exception):
    """A checkpoint that can't be used; the message says what to do."""


def save(path: str | Path, state: State, world_size: int = 1) -> int:
    """Writes `state` whole or not at all; the file's bytes. Called by one rank.

    A new file beside the old one, flushed to the disk, then renamed over it: at every moment one of
    the two is there, whole. Raises: OSError where the folder can't be written; the old file stays.
    """
    path, buffer = Path(path), io.BytesIO()
    torch.save({"world_size": world_size, "state": state}, buffer)
    content = buffer.getvalue()
    files.write_whole(path, MARK + hashlib.sha256(content).digest() + content)
    _flush_folder(path.parent)
    return HEAD_BYTES + len(content)


def _flush_folder(folder: Path) -> None:
    """The rename itself has reached the disk only when the folder has."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def load(path: str | Path, world_size: int | None = None) -> State:
    """What was saved, tensors on the CPU. Loads numbers and containers only, never code.

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
            "or load it without world_size: weights, optimizer and position in the data fit any "
            f"number that divides the batch, the {saved} random states don't."
        )
    state: State = found["state"]
    return state


def random_states() -> State:
    """This rank's generators: the processor's, and its GPU's where it has used one."""
    cuda = {"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_initialized() else {}
    return {"cpu": torch.get_rng_state(), **cuda}


def set_random_states(states: State) -> None:
    """Puts the generators back where `random_states` found them."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"])


def newest(folder: str | Path) -> Path | None:
    """The last checkpoint `step-….pt` of a folder that loads; None where there is none."""
    for path in sorted(Path(folder).glob("step-*.pt"), reverse=True):
        try:
            load(path)
        except CheckpointError:
            continue
        return path
    return None
