"""Call stacks of a snapshot, each kept once and known by a number."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from snapshots_and_traces.snapshots.safe_pickle import SnapshotError

LONGEST_TEXT = 2000
MOST_TEXT = 2**24  # characters of all frames: a hundred times what the largest programs have
SPARSE = 6  # frames that are enough to see which stacks may be the same
# How C++ frames name a backward function and an operator.
BACKWARD = re.compile(r"torch::autograd::generated::(\w+?)(?:_apply_functional|::apply)")
OPERATOR = re.compile(r"at::_ops::(\w+)::call")
CELL = re.compile(r"(?:^|/)ipykernel_\d+/\d+\.py$")  # a notebook's cell: its numbers say nothing
# Frames through which torch calls every module's `forward`.
PASSING = ("_wrapped_call_impl", "_call_impl")
OUTSIDE = ("site-packages/", "dist-packages/", "/torch/", "/runpy.py", "/ipykernel/", "/IPython/")


class Frame(NamedTuple):
    """A function on a call stack, with the place it had reached."""

    name: str
    filename: str
    line: int

    @property
    def is_python(self) -> bool:
        return self.filename.endswith(".py") or self.filename.startswith("<")

    @property
    def is_own(self) -> bool:
        """Python, and not of a library: the reader's own code, as far as a path tells."""
        path = f"/{with_slashes(self.filename)}"
        return self.is_python and not any(part in path for part in OUTSIDE)

    def __str__(self) -> str:
        path = with_slashes(self.filename)
        place = "cell" if CELL.search(path) else path.rpartition("/")[2]
        return f"{self.name}, {place}:{self.line}" if self.is_python else self.name


def with_slashes(path: str) -> str:
    """A path as Linux writes it, from there or from Windows."""
    return path.replace("\\", "/")


class Stacks:
    """Stacks by number, the innermost function first; number 0 is the empty one."""

    def __init__(
        self, frames: Sequence[Frame] = (), stacks: Sequence[tuple[int, ...]] = ((),)
    ) -> None:
        self.frames, self.stacks = [*frames], [*stacks]  # a stack is places of frames
        self._number_of_frame: dict[Frame, int] = {}
        self._text = 0  # characters of the frames so far
        self._number_of_stack: dict[tuple[int, ...], int] = {(): 0}
        self._seen_frames: dict[int, int] = {}
        self._seen_lists: dict[int, int] = {}
        self._alike: dict[tuple[int, ...], list[tuple[list[Any], int]]] = {}

    def __len__(self) -> int:
        return len(self.stacks)

    def __getitem__(self, number: int) -> tuple[Frame, ...]:
        return tuple(self.frames[place] for place in self.stacks[number])

    def intern(self, frames: Any) -> int:
        """The number of a stack as the file has it, a list of dicts or nothing."""
        if frames is None or frames == []:
            return 0
        number = self._seen_lists.get(id(frames))
        if number is None:
            if not isinstance(frames, list):
                raise SnapshotError("its fields are not those of a snapshot: frames are a list.")
            self._seen_lists[id(frames)] = number = self._number(frames)
        return number

    def _number(self, frames: list[Any]) -> int:
        """The number of a list that wasn't seen yet; it may hold the same frames as another.

        To take the identities of all its frames would be the slowest part of reading a file. So a
        few of them choose the lists that may be the same, and these are compared as they are.
        """
        alike = self._alike.setdefault((len(frames), *map(id, frames[::SPARSE])), [])
        for other, number in alike:
            if other == frames:
                return number
        stack = tuple(map(self._frame, frames))
        number = self._number_of_stack.setdefault(stack, len(self.stacks))
        if number == len(self.stacks):
            self.stacks.append(stack)
        alike.append((frames, number))
        return number

    def numbers(self, stacks: Iterable[Any]) -> Iterator[int]:
        """The number of each of these stacks."""
        return map(self.intern, stacks)

    def forget_sources(self) -> None:
        """Lets go of the file's own objects once everything is read."""
        self._seen_frames, self._seen_lists, self._alike = {}, {}, {}

    def _frame(self, raw: Any) -> int:
        known = self._seen_frames.get(id(raw))
        if known is None:
            texts = (text_of(raw.get("name", "")), text_of(raw.get("filename", "")))
            self._text += sum(map(len, texts))
            if self._text > MOST_TEXT:
                raise SnapshotError(
                    "its frames hold more text than any program has: a memory bomb."
                )
            frame = Frame(*texts, int(raw.get("line", 0)))
            known = self._number_of_frame.setdefault(frame, len(self.frames))
            if known == len(self.frames):
                self.frames.append(frame)
            self._seen_frames[id(raw)] = known
        return known


def text_of(raw: Any) -> str:
    """Text that can be shown; nothing for what is no text, whose own words might be endless.

    Characters that would steer a terminal, or turn round what stands after them, become "?".
    """
    text = raw[:LONGEST_TEXT] if isinstance(raw, str) else ""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def who(stack: tuple[Frame, ...]) -> str:
    """The call site: the innermost frame of the reader's code, else of Python, else of torch."""
    for wanted in ("is_own", "is_python"):
        for frame in stack:
            if getattr(frame, wanted):
                return str(frame)
    return (native(stack) or ["native code" if stack else "no stack recorded"])[0]


def path(stack: tuple[Frame, ...]) -> list[str]:
    """The way to an allocation, the outermost first: Python's frames, then torch's operator."""
    python = [
        str(frame) for frame in reversed(stack) if frame.is_python and frame.name not in PASSING
    ]
    return [*python, *native(stack)] or [who(stack)]


def native(stack: tuple[Frame, ...]) -> list[str]:
    """The backward function and the operator that the C++ frames below Python's name."""
    inner = [_inside_torch(frame.name) for frame in reversed(stack[: _innermost_python(stack)])]
    backward = [name for name, _ in inner if name]
    operators = [name for _, name in inner if name]
    return [*(f"backward, {name}" for name in backward[:1]), *(f"at::{n}" for n in operators[:1])]


@lru_cache(2**16)
def _inside_torch(name: str) -> tuple[str, str]:
    """The backward function and the operator that a C++ frame names, "" for none."""
    backward, operator = BACKWARD.search(name), OPERATOR.search(name)
    return backward[1] if backward else "", operator[1] if operator else ""


def _innermost_python(stack: tuple[Frame, ...]) -> int:
    return next((place for place, frame in enumerate(stack) if frame.is_python), len(stack))
