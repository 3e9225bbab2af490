"""Reading a pickle that someone else wrote: containers, numbers and strings, and nothing that runs.

A pickle is a program for a stack machine, and some of its instructions call functions. Refusing
those is not enough: a file of a few bytes can claim terabytes, fill a dictionary with keys that
all collide, or nest tuples until hashing one overflows the stack. So the instructions are checked
first, against the few forms in which Python's own pickler writes plain data, and only a file that
consists of nothing else reaches `pickle`. Both take time and memory in proportion to the file.

The forms are those of `plain_forms`. What repeats a list of references to the same few frames is
read once (`repeated_lists`).
Source of the instructions: Python's `pickletools`.
"""

import gc
import io
import os
import pickle
import pickletools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NoReturn

from snapshots_and_traces.snapshots.plain_forms import (
    LONG_TEXT,
    PAIRS,
    PUSHES,
    SINGLE,
    TOKEN,
    frequent,
    pushes,
)
from snapshots_and_traces.snapshots.repeated_lists import with_lists_once

LARGEST_BYTES = 2**30
LOOSE = 1000  # instructions in a form that plain data needs rarely; each such list is short
_WORD = rb"([\w.<>]{1,99})"
NAMED = re.compile(
    b"[ci]" + _WORD + b"\n" + _WORD + b"\n|"
    rb"\x8c." + _WORD + rb"\x94?\x8c." + _WORD + rb"\x94?\x93"
)  # fmt: skip


class SnapshotError(ValueError):
    """A file that is no snapshot, or more than one; the message is a sentence."""


class _Program:
    """Instructions as a file of one frame, which the unpickler is handed as it is, not a copy."""

    def __init__(self, body: bytes) -> None:
        self.head = io.BytesIO(b"\x80\x04\x95" + len(body).to_bytes(8, "little"))
        self.bodies = [body]

    def read(self, size: int) -> bytes:
        """The bytes of the head, then all the instructions."""
        return self.head.read(size) or (self.bodies.pop() if self.bodies else b"")

    def readline(self) -> bytes:
        """No line: plain data has none."""
        return b""


class _Refusing(pickle.Unpickler):
    """A second lock: the check before lets nothing through that would ask for these.

    What `with_lists_once` asks for, lists of references that were kept, is all there is.
    """

    def __init__(self, file: _Program) -> None:
        super().__init__(file)
        self.kept: list[list[Any]] = []

    def find_class(self, module: str, name: str) -> NoReturn:
        raise SnapshotError(f"it asks for {module}.{name}, and plain data asks for nothing.")

    def persistent_load(self, pid: Any) -> list[Any]:
        if type(pid) is list:
            self.kept.append(pid)
            return pid
        if type(pid) is int and 0 <= pid < len(self.kept):
            return self.kept[pid]
        raise SnapshotError("it asks for an object kept elsewhere.")


def read(data: bytes) -> Any:
    """The plain data in a pickle in memory: as `read_file` reads it. Raises: SnapshotError."""
    return read_file(io.BytesIO(data))


def read_file(file: IO[bytes], largest_bytes: int = LARGEST_BYTES) -> Any:
    """The plain data in a pickle of protocol 4 or 5, as Python has written it since 3.8.

    Lists, dicts with text as keys, short tuples, numbers, text, True, False and None; nothing is
    imported or called. Takes at most about 40 times the file's size in memory.
    Raises: SnapshotError, one sentence, for anything else.
    """
    size = file.seek(0, os.SEEK_END)
    if size > largest_bytes:
        raise SnapshotError(
            f"it has {size:,} bytes, over the limit of {largest_bytes:,}; where you trust it "
            f"and have the memory, pass a larger `largest_bytes`."
        )
    _look_at_ends(file, size)
    try:
        with without_collector():
            return _Refusing(_Program(_checked(file, size))).load()
    except SnapshotError:
        raise
    except Exception as problem:  # a broken program fails in many ways, and each means the same
        raise SnapshotError(f"it is damaged ({type(problem).__name__}: {problem}).") from None


@contextmanager
def without_collector() -> Iterator[None]:
    """Python's garbage collector stays off: it would walk millions of new dicts again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _look_at_ends(file: IO[bytes], size: int) -> None:
    file.seek(0)
    beginning = file.read(2)
    file.seek(max(size - 1, 0))
    if size < 3 or beginning[:1] != b"\x80" or file.read(1) != b".":
        raise SnapshotError(
            "it isn't a whole pickle file, which begins with 80 (hex), ends with a dot."
        )
    if beginning[1] not in (4, 5):
        raise SnapshotError(f"it is a pickle of protocol {beginning[1]}, and torch writes 4 or 5.")


def _instructions(file: IO[bytes], size: int) -> Iterator[bytes]:
    """The instructions alone: protocol 4 packs them in frames, with long text between these."""
    at = 2
    while at < size:
        file.seek(at)
        head = file.read(9)
        if head[:1] == b"\x95":
            start, end = at + 9, at + 9 + int.from_bytes(head[1:], "little")
        elif text := LONG_TEXT.match(head):
            start, end = at, at + text.end() + int.from_bytes(text[1] or text[2], "little")
        else:
            start, end = at, size
        if end > size:
            raise SnapshotError("it is cut off: a part claims more bytes than there are.")
        file.seek(start)
        yield file.read(end - start)
        at = end


def _checked(file: IO[bytes], size: int) -> bytes:
    """A program of the forms above that gives the same data as a file's, if that is one."""
    shorter = with_lists_once(_instructions(file, size))
    try:
        _check(shorter)
    except SnapshotError:  # a wrong file, or one with a number made to look like a list
        body = b"".join(_instructions(file, size))
        _check(body)
        return body
    return shorter


def _check(body: bytes) -> None:
    """Accepts only the forms above, with text wherever a dict's key stands.

    `heights` counts what lies on the machine's stack above each open bracket; in a dict, what is
    put at an even height is a key.
    """
    opened = body.count(b"]") + body.count(b"}")
    if opened > len(body) // 6 + LOOSE:
        raise SnapshotError(f"its {len(body):,} bytes open {opened:,} containers: a memory bomb.")
    shapes = frequent(body)
    flat = pushes(shapes) if shapes else PUSHES
    brackets, heights, loose, at, end = [b""], [0], 0, 0, len(body)
    while at < end - 1:
        inside_dict = brackets[-1] == b"u"
        if not inside_dict:
            at = flat.match(body, at).end()  # type: ignore[union-attr]
        elif heights[-1] % 2 == 0:
            at = PAIRS.match(body, at).end()  # type: ignore[union-attr]
        elif single := SINGLE.match(body, at):
            at = single.end()
            heights[-1] += 1
            continue
        token = TOKEN.match(body, at)
        if not token:
            break
        kind, at = token.lastgroup, token.end()
        if kind == "open":
            heights[-1] += 1
            brackets.append(b"e" if token[0][:1] == b"]" else b"u")
            heights.append(0)
        elif kind == "close":
            if token[0][:1] != brackets[-1]:
                _refuse(body, token.start())
            if token[0][-1:] == b"(":
                heights[-1] = 0
            else:
                brackets.pop()
                heights.pop()
        elif kind == "text":
            length = token["long"] or token["longer"]
            at += int.from_bytes(length, "little")
            at += body[at : at + 1] == b"\x94"
            heights[-1] += 1
        elif kind == "push":
            heights[-1] += 1
        elif kind == "append":
            heights[-1] -= 1
        else:
            loose += 1
            heights[-1] -= {b"s": 2, b"\x86": 1, b"\x87": 2}.get(token[0][:1], 0)
            if loose > LOOSE:
                _refuse(body, token.start())
    if at != end - 1 or len(brackets) > 1:
        _refuse(body, min(at, end - 1))


def _refuse(body: bytes, at: int) -> NoReturn:
    named = NAMED.search(body, max(0, at - 250), at + 600)
    if named:
        name = b".".join(part for part in named.groups() if part).decode("ascii", "replace")
        raise SnapshotError(f"it asks for {name}, and plain data asks for nothing.")
    names = {op.code: f"the instruction {op.name}" for op in pickletools.opcodes}
    name = names.get(chr(body[at]), f"byte {body[at]:#04x}")
    raise SnapshotError(f"at byte {at:,} it has {name} where plain data has none.")
