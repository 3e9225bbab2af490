"""Reads torch's flight recorders, which keep this process's collectives: gloo's, and NCCL's own.

A recorder is there where torch was built with it: one without CUDA has none for NCCL. A torch may
give the same entries from both: an entry counts once.
"""

import time
from typing import Any

from notebook_ranks.groups import torch_inside
from notebook_ranks.messages import Collective

Record = dict[str, Any]  # an entry, as torch writes it
_since = 0  # in nanoseconds of the system's clock


def forget() -> None:
    """Marks all entries so far as old: their groups are closed, and new ones get their names."""
    global _since
    _since = time.time_ns()


def entries() -> list[Record]:
    """All that the recorders of this torch hold, the oldest first; none where it has no recorder.

    Each names the backend in `profiling_name` ("nccl:all_reduce"); a message between two ranks has
    `is_p2p`. Whether it is done, a recorder says by `state` where it has events, else by `retired`.
    """
    found: dict[Any, Record] = {}
    for held in torch_inside.recorders():
        for entry in held:
            key = tuple(entry[k] for k in ("time_created_ns", "record_id", "profiling_name"))
            if entry["time_created_ns"] >= _since:
                found.setdefault(key, entry)
    return [found[key] for key in sorted(found)]


def collective(entry: Record) -> Collective:
    """The collective that an entry is; a message between two ranks is none."""
    backend, _, name = entry["profiling_name"].rpartition(":")
    group = f"{backend}:{entry['process_group'][0]}"
    types, shapes = list(map(str, entry["input_dtypes"])), entry["input_sizes"]
    return Collective(name, group, entry["collective_seq_id"], types, shapes)


def pending(found: list[Record]) -> list[Record]:
    """The entries that aren't done, the oldest first."""
    return [e for e in found if not e.get("retired") and e.get("state") != "completed"]
