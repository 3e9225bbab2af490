"""What torch's flight recorders kept of this process's collectives: gloo's, and NCCL's own.

A recorder is there where torch was built with it: one without CUDA has none for NCCL. A torch may
give the same entries from both: an entry counts once.
"""

import time
from typing import Any

from notebook_ranks.groups import torch_inside

Record = dict[str, Any]
_since = 0  # in nanoseconds of the system's clock


def forget() -> None:
    """What is recorded so far is of groups that are closed, whose names new ones will have."""
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


def told(entry: Record) -> Record:
    """What ranks must agree on: the group (and its backend), the name, the types, the shapes.

    `seq` numbers the group's collectives, alike on all of its ranks; messages have none.
    """
    backend, _, name = entry["profiling_name"].rpartition(":")
    return {
        "name": name,
        "group": f"{backend}:{entry['process_group'][0]}",
        "seq": entry["collective_seq_id"],
        "types": entry["input_dtypes"],
        "shapes": entry["input_sizes"],
    }


def pending(found: list[Record]) -> list[Record]:
    """Of the entries those that aren't done, the oldest first."""
    return [e for e in found if not e.get("retired") and e.get("state") != "completed"]


class Reader:
    """Reads what is new since it last looked."""

    def __init__(self) -> None:
        self._seen = -1

    def fresh(self, found: list[Record]) -> list[Record]:
        """The collectives among the entries that are new, as `told` says them."""
        found = [e for e in found if e["time_created_ns"] > self._seen]
        self._seen = max([self._seen, *(e["time_created_ns"] for e in found)])
        return [told(e) for e in found if not e["is_p2p"]]
