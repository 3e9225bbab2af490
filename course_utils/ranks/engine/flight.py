"""What torch's flight recorders kept of this process's collectives: gloo's, and NCCL's own.

A recorder is there where torch was built with it: one without CUDA has none for NCCL. A torch may
give the same entries from both: an entry counts once.
"""

import json
from typing import Any

RECORDERS = ("_dump_fr_trace_json", "_dump_nccl_trace_json")  # names in torch._C._distributed_c10d
Record = dict[str, Any]


def entries() -> list[Record]:
    """All that the recorders of this torch hold, the oldest first; none where it has no recorder.

    Each names the backend in `profiling_name` ("nccl:all_reduce"); a message between two ranks has
    `is_p2p`. Whether it is done, a recorder says by `state` where it has events, else by `retired`.
    """
    from torch._C import _distributed_c10d as c10d

    found: dict[Any, Record] = {}
    for name in RECORDERS:
        if hasattr(c10d, name):
            for entry in json.loads(getattr(c10d, name)()).get("entries", []):
                key = tuple(entry[k] for k in ("time_created_ns", "record_id", "profiling_name"))
                found.setdefault(key, entry)
    return [found[key] for key in sorted(found)]


def told(entry: Record) -> Record:
    """What ranks must agree on: the group (and its backend), the name, the types, the shapes."""
    backend, _, name = entry["profiling_name"].rpartition(":")
    return {
        "name": name,
        "group": f"{backend}:{entry['process_group'][0]}",
        "types": entry["input_dtypes"],
        "shapes": entry["input_sizes"],
    }


def pending() -> Record | None:
    """The oldest entry that isn't done, as `told` says it, and its numbers in the group as `seq`.

    None where nothing is under way.
    """
    for entry in entries():
        if not entry.get("retired") and entry.get("state") != "completed":
            return told(entry) | {
                "seq": [entry.get(f"{kind}_seq_id") for kind in ("collective", "p2p")]
            }
    return None


class Reader:
    """Reads what is new since it last looked."""

    def __init__(self) -> None:
        self._seen = -1

    def fresh(self, held: list[Record]) -> list[Record]:
        """Of the entries those since the last call, as `told` says them, without the messages."""
        found = [e for e in held if e["time_created_ns"] > self._seen]
        self._seen = max([self._seen, *(e["time_created_ns"] for e in found)])
        return [told(e) for e in found if not e["is_p2p"]]
