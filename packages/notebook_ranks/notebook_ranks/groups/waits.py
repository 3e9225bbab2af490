"""What this process waits for: the collective, message or key that its threads stand in.

A sample of a rank says what its blocked threads need (`needs`), which threads may still act
(`acting`), and what it has done for others so far: enough to tell who will never come.
"""

import os
import re
import sys
import threading
import types
from datetime import timedelta
from typing import Any

from notebook_ranks import processes
from notebook_ranks.groups import flight, notes, torch_inside

PACKAGE = os.path.dirname(os.path.dirname(__file__))
# Threads that wait for work and bring none of their own, by a file on their stack.
IDLE = [PACKAGE, *(os.path.join(*name.split("/")) for name in (
    "tqdm/_monitor.py", "torch/_inductor/compile_worker/subproc_pool.py",
))]  # fmt: skip
POOLS = {("thread.py", "_worker"), ("pool.py", "worker"), ("queues.py", "_feed")}
# Where torch waits in C++ for a collective that its recorder has, with no frame of `notes`.
INSIDE = tuple(os.path.join("torch", *name.split("/")) for name in (
    "distributed/", "nn/parallel/", "futures/", "autograd/graph.py", "_ops.py",
))  # fmt: skip
HISTORY = 24  # collectives of which a sample tells the tensors
MESSAGE = re.compile(r":(send|recv) \d+(?:->|<-)(\d+)$")  # as NCCL's part of torch names them
Need = dict[str, Any]
Frame = types.FrameType


def of_process(main: int, pending: list[flight.Record]) -> dict[str, Any]:
    """`needs`, `acting` (names of threads) and `waits` (whether the main thread does) of now.

    `main` is the id of the thread that runs the cell, `pending` what the recorder hasn't done.
    """
    frames = sys._current_frames()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    own = needs_of(frames[main], pending) if main in frames else None
    needs, acting = [*(own or [])], []
    for ident, frame in frames.items():
        if ident not in (main, threading.get_ident()) and not _is_idle(frame):
            found = needs_of(frame, pending)
            needs += found or []
            acting += [] if found else [names.get(ident, "a thread of C++ code")]
    joined = own is None and main in frames and _waits_for_a_thread(frames[main]) and bool(needs)
    return {"needs": needs, "acting": acting, "waits": bool(own) or joined}


def may_wait(main: int) -> bool:
    """Whether the thread stands where `of_process` may find that it waits; costs nearly nothing."""
    frame = sys._current_frames().get(main)
    return frame is not None and (_at_torch(frame) or _waits_for_a_thread(frame))


def _at_torch(frame: Frame) -> bool:
    name = frame.f_code.co_filename
    return name == notes.__file__ or any(part in name for part in INSIDE)


def needs_of(frame: Frame, pending: list[flight.Record]) -> list[Need] | None:
    """What a thread waits for that another rank must bring; None where it does something else."""
    seen = frame.f_locals
    if frame.f_code.co_filename == notes.__file__:
        door = _AT_A_DOOR.get(frame.f_code.co_name)
        return door(seen, pending) if door else None
    if frame.f_code.co_name == "_new_process_group_helper":
        ranks = list(seen.get("global_ranks_in_group") or range(seen.get("group_size", 0)))
        own = {"group": str(seen.get("group_name")), "ranks": ranks, "opened": notes.opened}
        return [{"kind": "set-up", **own}]
    return (collectives(pending) or None) if _at_torch(frame) else None


def _in_work(seen: dict[str, Any], pending: list[flight.Record]) -> list[Need] | None:
    note = notes.of_work(seen["work"])
    found = [_message(note)] if note else collectives(pending)
    given = _given(seen)
    return [need | ({"seconds": given} if given else {}) for need in found] or None


def _in_message(seen: dict[str, Any], _pending: list[flight.Record]) -> list[Need] | None:
    return [_message(seen["note"])] if "note" in seen else None


def _in_collective(seen: dict[str, Any], pending: list[flight.Record]) -> list[Need] | None:
    """In a call that doesn't return before the others come: checked ones, a group's first."""
    if known := collectives(pending):
        return known
    kept_by = notes.ledger(seen["group"])
    call = {"kind": "call", "group": kept_by.name, "number": kept_by.made, "name": seen["name"]}
    return [{**call, "ranks": torch_inside.members(seen["group"]), "seconds": _given(seen)}]


def _in_lookup(seen: dict[str, Any], _pending: list[flight.Record]) -> list[Need] | None:
    keys = seen["args"][0] if seen["args"] else ""
    names = [keys] if isinstance(keys, str) else [*keys]
    seconds = _given(seen) or seen["store"].timeout.total_seconds()
    return [{"kind": "key", "keys": names, "seconds": seconds, "children": _has_children()}]


_AT_A_DOOR = {"wait": _in_work, "message": _in_message,
              "collective": _in_collective, "lookup": _in_lookup}  # fmt: skip


def _given(seen: dict[str, Any]) -> float:
    """The seconds that a call was told to wait at most; 0 where it wasn't."""
    values = (*seen["args"], *seen.get("kwargs", {}).values())
    return next((v.total_seconds() for v in values if isinstance(v, timedelta)), 0)


def _has_children() -> bool:
    """Whether processes that this one started are there, which may set a key."""
    return bool(processes.children())


def _message(note: notes.Note) -> Need:
    kept_by = note["ledger"]
    group = kept_by.group()
    ranks = torch_inside.members(group)
    found = {name: note[name] for name in ("kind", "tag", "number")}
    return {**found, "group": kept_by.name, "peer": _peer(ranks, note["peer"]), "ranks": ranks,
            "seconds": torch_inside.patience_of(group)}  # fmt: skip


def _peer(ranks: list[int], place: int) -> int | None:
    """Who stands there in the group; None for anybody, or where the group is gone."""
    return ranks[place] if 0 <= place < len(ranks) else None


def collectives(pending: list[flight.Record]) -> list[Need]:
    """The needs that the recorder's unfinished entries are, of groups that are still there."""
    known = {group.group_name: ranks for group, ranks in notes.groups()}
    return [
        _transfer(entry, known[entry["process_group"][0]])
        for entry in pending
        if entry["process_group"][0] in known
    ]


def _transfer(entry: flight.Record, ranks: list[int]) -> Need:
    found = {"ranks": ranks, "seconds": entry.get("timeout_ms", 0) / 1000}
    message = MESSAGE.search(entry["profiling_name"])
    if message:  # NCCL's, which knows no tags
        group, kind, peer = entry["process_group"][0], message[1], ranks[int(message[2])]
        posted = _posted(group, kind, int(message[2]))
        own = {"kind": kind, "group": group, "peer": peer, "tag": None, "number": posted}
        return {**own, **found}
    return {"kind": "collective", **flight.told(entry), **found}


def _posted(name: str, kind: str, peer: int) -> int:
    """How many messages this process has begun with a place in a group."""
    kept_by = next(notes.ledger(group) for group, _ in notes.groups() if group.group_name == name)
    return sum(n for key, n in [*kept_by.messages.items()] if key[:2] == (kind, peer))


def state(entries: list[flight.Record]) -> dict[str, Any]:
    """What this process has done that others may wait for; `me` is its rank in the default group.

    By group: its members, the number of its last collective that the recorder knows (`joined`) and
    of the last that Python asked for (`made`); messages by group, kind, peer and tag.
    """
    latest = {flight.told(e)["group"]: e["collective_seq_id"] for e in entries if not e["is_p2p"]}
    found: dict[str, Any] = {"me": notes.me(), "groups": {}, "joined": {}, "made": {},
                             "messages": [], "calls": [], "opened": notes.opened}  # fmt: skip
    for group, ranks in notes.groups():
        name, kept_by = group.group_name, notes.ledger(group)
        found["groups"][name], found["made"][name] = ranks, kept_by.made
        if _is_used(group):
            found["joined"] |= {k: n for k, n in latest.items() if k.partition(":")[2] == name}
        found["calls"] += notes.told(kept_by, HISTORY)
        found["messages"] += [
            [name, kind, _peer(ranks, peer), tag, count]
            for (kind, peer, tag), count in [*kept_by.messages.items()]
        ]
    told = [flight.told(e) for e in entries[-HISTORY:] if not e["is_p2p"]]
    return {**found, "history": told}


def left_by(main: int) -> dict[str, Any]:
    """What a process that has finished leaves to the others; threads that go on count as acting."""
    try:
        entries = flight.entries()
        found = of_process(main, flight.pending(entries))
        acting = found["acting"] + ["one in torch.distributed"] * bool(found["needs"])
        return {**state(entries), "acting": acting}
    except Exception as error:  # whoever watches must outlive what it sees
        return {"acting": [f"it can't be looked at: {error}"]}


def _is_used(group: Any) -> bool:
    """Whether a group has done something: entries under a new group's name are an earlier one's."""
    try:
        return bool(group._get_sequence_number_for_group())
    except RuntimeError:  # a backend that doesn't count
        return True


def _is_idle(frame: Frame) -> bool:
    """Whether a thread only waits for work from other threads of this process."""
    if _waits_for_a_thread(frame):
        return True
    if (os.path.basename(frame.f_code.co_filename), frame.f_code.co_name) in POOLS:
        return True
    step: Frame | None = frame
    while step is not None:
        name = step.f_code.co_filename
        if name != notes.__file__ and any(part in name for part in IDLE):
            return True
        step = step.f_back
    return False


def _waits_for_a_thread(frame: Frame) -> bool:
    """Whether a thread waits without a limit for another one: in `join`, `get`, `Event.wait`."""
    inside = frame.f_code.co_filename == threading.__file__
    names = ("wait", "join", "_wait_for_tstate_lock")
    return inside and frame.f_code.co_name in names and frame.f_locals.get("timeout") in (None, -1)
