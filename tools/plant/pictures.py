"""Errors in stored pictures: deleted, blank, mirrored, or another one's."""

import base64
import io
from collections.abc import Callable, Iterator
from typing import Any

from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from tools.plant import page as pages
from tools.plant.kinds import planted, read
from tools.plant.page import PNG, Cell, Page
from tools.plant.plants import Plant


def deleted(kind: str, stem: str) -> Iterator[Plant]:
    """The PNG is gone, what it says in words stays."""
    for cell in _pictured(read(stem)):
        yield planted(kind, stem, cell, "PNG deleted", lambda _page, c: pages.picture(c).pop(PNG))  # type: ignore[union-attr]


def blank(kind: str, stem: str) -> Iterator[Plant]:
    """A white picture of the same size."""
    for cell in _pictured(read(stem)):
        yield planted(kind, stem, cell, "blank", _redrawn(_white))


def mirrored(kind: str, stem: str) -> Iterator[Plant]:
    for cell in _pictured(read(stem)):
        yield planted(kind, stem, cell, "mirrored", _redrawn(ImageOps.mirror))


def exchanged(kind: str, stem: str) -> Iterator[Plant]:
    """The next picture of the page stands where this one did."""
    found = _pictured(read(stem))
    for cell, other in zip(found, found[1:] + found[:1], strict=True):
        png = pages.picture(other)[PNG]  # type: ignore[index]
        yield planted(kind, stem, cell, f"the picture of {other['id']}", _showing(png))


def _showing(png: str) -> Callable[[Page, Cell], None]:
    def edit(_page: Page, cell: Cell) -> None:
        pages.picture(cell)[PNG] = png  # type: ignore[index]

    return edit


def _white(image: Image.Image) -> Image.Image:
    return Image.new("RGB", image.size, "white")


def _redrawn(draw: Callable[[Image.Image], Image.Image]) -> Callable[[Page, Cell], None]:
    """Other pixels, everything else that the PNG says of itself as it was."""

    def edit(_page: Page, cell: Cell) -> None:
        data: dict[str, Any] = pages.picture(cell)  # type: ignore[assignment]
        old = Image.open(io.BytesIO(base64.b64decode("".join(data[PNG]))))
        notes = PngInfo()
        for name, text in getattr(old, "text", {}).items():
            notes.add_text(name, text)
        file = io.BytesIO()
        draw(old.convert("RGB")).quantize(96).save(file, format="png", pnginfo=notes)
        data[PNG] = base64.b64encode(file.getvalue()).decode()

    return edit


def _pictured(page: Page) -> list[Cell]:
    return [cell for cell in page.code if pages.picture(cell)]
