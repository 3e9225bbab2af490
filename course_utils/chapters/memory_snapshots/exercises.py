"""Checkers for chapter 9, "Memory snapshots"."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from course_utils.chapters.memory_snapshots.chapter_snapshots import recorded_snapshot
from course_utils.lesson.answers import against
from course_utils.lesson.exercises import exercise
from snapshots_and_traces.snapshots import safe_pickle


@exercise(
    "memory.verdict",
    todo="write verdict(tried, free, allocated, unallocated, capacity, context).",
    hints=(
        "Steps 1, 2 and 4: would what is free and what is unallocated do together? Would "
        "the program fit on a card that holds only its context? Else it is too large.",
        "allocated + tried + context is what the program needs at least.",
    ),
)
def check_verdict(verdict: Callable[..., str]) -> str:
    """On messages at the borders of each verdict, and between them."""
    cases = [(20.0, 14.0, 173.38, 68.62, 256.0, 0.0)]
    for _ in range(60):
        context, others = float(random.randint(1, 8)), float(random.randint(1, 20))
        free, holes, allocated = (float(random.randint(1, 60)) for _ in range(3))
        capacity = free + holes + allocated + context + others
        border = random.choice([0.0, 0.25, -0.25])
        for tried in (free + holes, free + holes + others, free + holes + others + context):
            cases.append((tried + border, free, allocated, holes, capacity, context))
    against(verdict, _verdict, cases)
    return f"{len(cases)} messages, at the borders and between them"


def _verdict(
    tried: float,
    free: float,
    allocated: float,
    unallocated: float,
    capacity: float,
    context: float,
) -> str:
    if tried <= free + unallocated:
        return "fragmented"
    return "outside" if tried <= capacity - context - allocated else "too large"


@exercise(
    "memory.keepers",
    todo="write keepers(snapshot, own), a dict of lines and the free bytes beside their blocks.",
    hints=(
        "For each segment: how many bytes of its blocks are free, and which lines have a block in "
        "use there? A set has each line once.",
        'Of a block: next((f for f in block["frames"] if own in f["filename"]), None) is the first '
        "frame of the reader's own code, None if there is none.",
    ),
)
def check_keepers(keepers: Callable[..., dict[str, int]]) -> str:
    """On random snapshots, from small to large, and on section 3's program on a GPU."""
    cases = [({"segments": _segments(1 + n // 10)}, "mine/") for n in range(40)]
    said = f"{len(cases)} random snapshots"
    if path := recorded_snapshot("snapshot_fragmented"):
        recorded = {"segments": safe_pickle.read(path.read_bytes())["segments"]}, "programs.py"
        cases.append(recorded)
        line, n_bytes = max(_keepers(*recorded).items(), key=lambda item: item[1])
        said += f" and section 3's recorded one, where {line} keeps {n_bytes / 2**20:.1f} MiB"

    def without_zeros(snapshot: dict[str, Any], own: str) -> Any:
        found = keepers(snapshot, own)
        return {k: n for k, n in found.items() if n} if isinstance(found, dict) else found

    against(without_zeros, _keepers, cases)
    return said


def _segments(count: int) -> list[dict[str, Any]]:
    """Segments of up to five blocks, with up to three frames each; free blocks have none."""
    files = ("mine/model.py", "mine/train.py", "torch/nn/modules/linear.py")

    def block() -> dict[str, Any]:
        state = random.choice(["inactive", "active_allocated", "active_awaiting_free"])
        frames = [
            {"name": "f", "filename": random.choice(files), "line": random.randint(1, 3)}
            for _ in range(random.randint(0, 3) if state != "inactive" else 0)
        ]
        return {"size": 512 * random.randint(1, 9), "state": state, "frames": frames}

    return [{"blocks": [block() for _ in range(random.randint(1, 5))]} for _ in range(count)]


def _keepers(snapshot: dict[str, Any], own: str) -> dict[str, int]:
    held: Counter[str] = Counter()
    for blocks in (segment["blocks"] for segment in snapshot["segments"]):
        used = [block for block in blocks if block["state"] != "inactive"]
        stacks = ([f for f in block["frames"] if own in f["filename"]] for block in used)
        lines = {f"{stack[0]['filename']}:{stack[0]['line']}" for stack in stacks if stack}
        free = sum(block["size"] for block in blocks) - sum(block["size"] for block in used)
        held.update(dict.fromkeys(lines, free))
    return {line: free for line, free in held.items() if free}
