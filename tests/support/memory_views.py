"""Histories of a toy allocator, and what a widget or a picture of them shows."""

import io
from pathlib import Path

from PIL import Image

from course_utils.memory.snapshots.lives import history
from course_utils.memory.snapshots.snapshot import load
from tests.support.toy_allocator import ToyAllocator


def opened(toy: ToyAllocator, folder: Path, last: int | None = None):
    return history(load(toy.dump(folder / "toy.pickle", last)))


def state_of(toy: ToyAllocator, moment: int):
    return toy.states[len(toy.events) - 500 + moment]


def is_drawn(picture) -> bool:
    """A picture of several colours, with its message as text, small enough for a notebook."""
    image = Image.open(io.BytesIO(picture.png)).convert("RGB")
    return len(image.getcolors(1 << 24)) > 3 and len(picture.png) < 60_000 and bool(picture.alt)


def asked(widget, what: str, value, count: int = 1):
    widget.action = {"do": what, "with": value, "count": count}
    assert widget.state["answered"] == count
    return widget.state
