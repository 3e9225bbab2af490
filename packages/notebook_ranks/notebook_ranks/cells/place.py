"""Finds where a rank is: the line of the cell, the collective in which it waits, or the device."""

import asyncio
import dis
import linecache
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import asdict

from notebook_ranks.groups import flight, notes, waits
from notebook_ranks.messages import Need, Place, Where

WAITS = (f"torch{os.sep}distributed{os.sep}", f"nn{os.sep}parallel{os.sep}distributed.py")
UNNAMED = {"wrapper", "inner", "_wrapped", "<module>", "<listcomp>", "<lambda>"}
# What reads a tensor, or waits for an event, until the device has come so far.
ON_DEVICE = tuple(f"torch{os.sep}{name}" for name in ("cuda", "accelerator", "_tensor"))
READS = re.compile(
    r"(\.(item|tolist|cpu|numpy|to|nonzero|synchronize)|\b(float|int|bool|print))\([^()]*\)$"
)
TENSORS = ("tensor", "input_tensor", "input", "output_tensor", "output", "tensor_list")
PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
CELLS: dict[str, str] = {}  # the files whose lines the reader wrote, and what they are called
Step = tuple[types.FrameType, int]  # a frame, and the line of it


def remember(filename: str, source: str, called: str = "") -> None:
    """Makes the lines of a cell known, for messages and tracebacks; `called` is "In [7]"."""
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    CELLS[filename] = called or os.path.basename(filename).strip("<>")


def file_of(number: int) -> str:
    """The file of a notebook's cell for ranks; the first has number 1."""
    return f"<ranks cell {number}>"


def of_thread(thread_id: int) -> Place:
    """The place of a thread now; `with_wait` adds what it waits for."""
    frame = sys._current_frames().get(thread_id)
    steps: list[Step] = []
    while frame is not None:
        steps.append((frame, frame.f_lineno or 0))  # code that was generated may have no lines
        frame = frame.f_back
    found = Place(**asdict(describe([*reversed(steps), *_awaited(steps)])))
    if steps:
        innermost = steps[0][0]
        found.mark = f"{id(innermost)}:{innermost.f_lasti}:{found.line}"
        found.call = found.call or notes.door(innermost) or _waiting_call(innermost)
        found.reads = _reads(innermost)
    return found


def _awaited(steps: list[Step]) -> Iterator[Step]:
    """The place of the coroutine that an event loop runs: it isn't on the thread's stack."""
    loops = (frame for frame, _ in steps if frame.f_code.co_name == "run_until_complete")
    for frame in loops:
        task = frame.f_locals.get("future")
        one = task.get_coro() if isinstance(task, asyncio.Task) and not task.done() else None
        while isinstance(one, types.CoroutineType) and one.cr_frame and not one.cr_running:
            yield one.cr_frame, one.cr_frame.f_lineno
            one = one.cr_await


def with_wait(place: Place, main: int, nccl: bool) -> Place:
    """The place with what `waits` says of the process, and for what its main thread waits."""
    if not place.reads and not waits.may_wait(main):
        return place  # the recorder isn't read: that takes milliseconds
    entries = flight.entries()
    unfinished = flight.pending(entries)
    found = waits.of_process(main, unfinished)
    if not found.waits and place.reads and unfinished:
        found = found._replace(waits=True, needs=waits.collectives(unfinished))
    place.needs, place.acting = found.needs, found.acting
    if found.waits:
        kinds = {need.kind for need in found.needs}
        devices = [need for need in found.needs if on_device(need, place)]
        early = "set-up" in kinds or (nccl and "call" in kinds)
        place.wait = "set-up" if early else "device" if devices else "call"
        place.pending = devices[0].collective if devices else None
        seen = [(n.kind, n.collective and n.collective.seq, n.number) for n in found.needs]
        place.mark = f"{place.mark}:{seen}"
        place.state = waits.state(entries)
    return place


def on_device(need: Need, place: Place) -> bool:
    """Whether what a collective does happens on a GPU, or is awaited by reading a tensor of one."""
    return need.kind == "collective" and (need.group.startswith("nccl:") or not place.call)


def of_traceback(trace: types.TracebackType | None) -> Where:
    """The place that an exception came from."""
    steps = []
    while trace is not None:
        steps.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return describe(steps)


def describe(steps: Iterable[Step]) -> Where:
    """Describes a stack: the line of a cell, the function below it, the call of torch.

    The steps go from the outermost frame to the innermost. `call` is the first function of
    torch.distributed among them, None where there is none.
    """
    where = Where()
    for frame, line in steps:
        code = frame.f_code
        if code.co_filename.endswith("c10d_logger.py") or code.co_filename == notes.__file__:
            continue
        if any(folder in code.co_filename for folder in WAITS):
            if where.call is None and code.co_name not in UNNAMED:
                where.call, where.tensors = code.co_name, _tensors(frame)
        elif code.co_filename in CELLS:
            where.line, where.text, where.inside = line, text(code.co_filename, line), ""
            where.cell = code.co_filename
        elif where.line is not None and not is_librarys(code.co_filename):
            name = os.path.basename(code.co_filename)
            where.inside = f"{code.co_name}, {name} line {line}: {text(code.co_filename, line)}"
    return where


def is_librarys(filename: str) -> bool:
    """Whether a file is an installed library's, or this package's own: nothing for a reader."""
    return "site-packages" in filename or is_this_package(filename)


def is_this_package(filename: str) -> bool:
    """Whether a file is of the ranks' own package."""
    return filename.startswith(PACKAGE)


def folder_is_gone() -> bool:
    """Whether the working folder of this process was deleted."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def label(filename: str) -> str:
    """The name of the cell or the file, for a reader."""
    return CELLS.get(filename) or os.path.basename(filename)


def source(filename: str) -> str:
    """All lines of a cell."""
    return "".join(linecache.getlines(filename))


def text(filename: str, line: int) -> str:
    """A line, without its indentation."""
    return linecache.getline(filename, line).strip()


def _tensors(frame: types.FrameType) -> str:
    """The type and shape of the first tensor among the arguments of a collective."""
    for name in TENSORS:
        value = frame.f_locals.get(name)
        count = f"{len(value)} × " if isinstance(value, list | tuple) and value else ""
        first: Any = value[0] if isinstance(value, list | tuple) and value else value
        if hasattr(first, "shape") and hasattr(first, "dtype"):
            return f"{count}{str(first.dtype).removeprefix('torch.')} {list(first.shape)}"
    return ""


def _waiting_call(frame: types.FrameType) -> str | None:
    """`wait` or `backward` where the frame waits in C++ code that has no frame of its own."""
    if frame.f_code.co_name == "_engine_run_backward":
        return "backward"
    _, source = _instruction(frame)
    return "wait" if source.endswith((".wait()", ".wait_tensor()")) else None


def _reads(frame: types.FrameType) -> bool:
    """Whether the frame may be waiting for the device: in `x.item()`, `if x:`, `synchronize()`."""
    if any(name in frame.f_code.co_filename for name in ON_DEVICE):
        return True
    name, source = _instruction(frame)
    asks = "JUMP_IF" in name or name in ("TO_BOOL", "UNARY_NOT")
    return asks or bool(READS.search(source))


def _instruction(frame: types.FrameType) -> tuple[str, str]:
    """The name and the text of the instruction at which a frame is, "" where they aren't known."""
    for step in dis.get_instructions(frame.f_code):
        if step.offset == frame.f_lasti:
            where = step.positions
            return step.opname, _segment(frame.f_code.co_filename, where) if where else ""
    return "", ""


def _segment(filename: str, where: dis.Positions) -> str:
    if where.lineno is None or where.end_lineno != where.lineno:
        return ""
    line = linecache.getline(filename, where.lineno).encode()
    return line[where.col_offset : where.end_col_offset].decode(errors="replace")
