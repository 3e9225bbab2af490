"""Finds what this process waits for: the collective, message or key that its threads stand in.

A sample of a rank says what its blocked threads need (`needs`), which threads may still act
(`acting`), and what it has done for others so far: enough to tell who will never come.
"""

import os
import re
import sys
import threading
import types
from datetime import timedelta
from typing import Any, NamedTuple

from msgspec.structs import replace

from notebook_ranks import processes
from notebook_ranks.groups import flight, notes, torch_inside
from notebook_ranks.messages import Need, State

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
HISTORY = 24  # collectives whose tensors are in a sample
MESSAGE = re.compile(r":(send|recv) \d+(?:->|<-)(\d+)$")  # as NCCL's part of torch names them
Frame = types.FrameType


class Found(NamedTuple):
    """Needs of threads, names of those that may act, and whether the main thread waits."""

    needs: list[Need]
    acting: list[str]
    waits: bool


def of_process(main: int, pending: list[flight.Record]) -> Found:
    """Finds what the threads of this process wait for now.

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
    return Found(needs, acting, bool(own) or joined)


def may_wait(main: int) -> bool:
    """Whether the thread stands where `of_process` may find that it waits; costs nearly nothing."""
    frame = sys._current_frames().get(main)
    return frame is not None and (_at_torch(frame) or _waits_for_a_thread(frame))


def _at_torch(frame: Frame) -> bool:
    name = frame.f_code.co_filename
    return name == notes.__file__ or any(part in name for part in INSIDE)


def needs_of(frame: Frame, pending: list[flight.Record]) -> list[Need] | None:
    """Needs of a waiting thread, which other ranks must meet; None where it doesn't wait."""
    seen = frame.f_locals
    if frame.f_code.co_filename == notes.__file__:
        door = _AT_A_DOOR.get(frame.f_code.co_name)
        return door(seen, pending) if door else None
    if frame.f_code.co_name == "_new_process_group_helper":
        ranks = list(seen.get("global_ranks_in_group") or range(seen.get("group_size", 0)))
        group = str(seen.get("group_name"))
        return [Need(kind="set-up", group=group, ranks=ranks, opened=notes.opened)]
    return (collectives(pending) or None) if _at_torch(frame) else None


def _in_work(seen: dict[str, Any], pending: list[flight.Record]) -> list[Need] | None:
    note = notes.of_work(seen["work"])
    found = [_message(note)] if note else collectives(pending)
    given = _given(seen)
    return [replace(need, seconds=given or need.seconds) for need in found] or None


def _in_message(seen: dict[str, Any], _pending: list[flight.Record]) -> list[Need] | None:
    return [_message(seen["note"])] if "note" in seen else None


def _in_collective(seen: dict[str, Any], pending: list[flight.Record]) -> list[Need] | None:
    """In a call that doesn't return before the others come: checked ones, a group's first."""
    if known := collectives(pending):
        return known
    kept_by = notes.ledger(seen["group"])
    return [
        Need(
            kind="call", group=kept_by.name, number=kept_by.made, name=seen["name"],
            ranks=torch_inside.members(seen["group"]), seconds=_given(seen),
        )
    ]  # fmt: skip


def _in_lookup(seen: dict[str, Any], _pending: list[flight.Record]) -> list[Need] | None:
    keys = seen["args"][0] if seen["args"] else ""
    names = [keys] if isinstance(keys, str) else [*keys]
    seconds = _given(seen) or seen["store"].timeout.total_seconds()
    return [Need(kind="key", keys=names, seconds=seconds, children=bool(processes.children()))]


_AT_A_DOOR = {"wait": _in_work, "message": _in_message,
              "collective": _in_collective, "lookup": _in_lookup}  # fmt: skip


def _given(seen: dict[str, Any]) -> float:
    """The timeout of a call in seconds; 0 if it has none."""
    values = (*seen["args"], *seen.get("kwargs", {}).values())
    return next((v.total_seconds() for v in values if isinstance(v, timedelta)), 0)


def _message(note: notes.Note) -> Need:
    group = note.ledger.group()
    ranks = torch_inside.members(group)
    return Need(
        kind=note.kind, group=note.ledger.name, peer=notes.peer_of(ranks, note.peer), tag=note.tag,
        number=note.number, ranks=ranks, seconds=torch_inside.patience_of(group),
    )  # fmt: skip


def collectives(pending: list[flight.Record]) -> list[Need]:
    """The needs that the recorder's unfinished entries are, of groups that are still there."""
    known = {group.group_name: ranks for group, ranks in notes.groups()}
    return [
        _transfer(entry, known[entry["process_group"][0]])
        for entry in pending
        if entry["process_group"][0] in known
    ]


def _transfer(entry: flight.Record, ranks: list[int]) -> Need:
    seconds = entry.get("timeout_ms", 0) / 1000
    message = MESSAGE.search(entry["profiling_name"])
    if not message:
        one = flight.collective(entry)
        return Need(
            kind="collective", group=one.group, ranks=ranks, seconds=seconds, collective=one
        )
    group, kind, place = entry["process_group"][0], message[1], int(message[2])
    return Need(  # NCCL's, which knows no tags
        kind=kind, group=group, peer=ranks[place], number=_posted(group, kind, place),
        ranks=ranks, seconds=seconds,
    )  # fmt: skip


def _posted(name: str, kind: str, peer: int) -> int:
    """Counts the messages that this process has begun with a member of a group."""
    kept_by = next(notes.ledger(group) for group, _ in notes.groups() if group.group_name == name)
    return sum(n for key, n in [*kept_by.messages.items()] if key[:2] == (kind, peer))


def state(entries: list[flight.Record]) -> State:
    """The state of this process: what it has done that others may wait for."""
    done = [flight.collective(e) for e in entries if not e["is_p2p"]]
    latest = {one.group: one.seq for one in done}
    found = State(me=notes.me(), opened=notes.opened, history=done[-HISTORY:])
    for group, ranks in notes.groups():
        name, kept_by = group.group_name, notes.ledger(group)
        found.groups[name], found.made[name] = ranks, kept_by.made
        if torch_inside.calls_of(group) != 0:  # else what the recorder has is an earlier group's
            found.joined |= {k: n for k, n in latest.items() if k.partition(":")[2] == name}
        found.calls += notes.told(kept_by, HISTORY)
        found.messages += notes.messages(kept_by)
    return found


def left_by(main: int) -> State:
    """The state that a finished process leaves; threads that go on count as acting."""
    try:
        entries = flight.entries()
        found, left = of_process(main, flight.pending(entries)), state(entries)
        left.acting = found.acting + ["one in torch.distributed"] * bool(found.needs)
        return left
    except Exception as error:  # whoever watches must outlive what it sees
        return State(acting=[f"it can't be looked at: {error}"])


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
