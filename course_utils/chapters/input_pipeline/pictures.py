"""Pictures that are made, not downloaded: JPEGs of drawn noise, the same pixels everywhere."""

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = 10
CELL = 16  # pixels: the patches between which a picture's colours blend


def make_jpegs(n: int, size: int = 96) -> list[bytes]:
    """`n` colour pictures of `size` × `size` pixels as JPEGs; picture `i` is of class `i % 10`.

    Each is a grid of random colours, blended, with the class as its brightness, so that it
    compresses about as a photograph does. The pixels are the same everywhere; the bytes may differ
    between versions of the JPEG library.
    """
    rng = np.random.default_rng(0)
    return [_jpeg(rng, size, label=i % CLASSES) for i in range(n)]


def write_files(folder: Path, jpegs: Iterable[bytes]) -> list[Path]:
    """Writes one file a picture, `folder/00042.jpg`; returns their paths, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, jpeg in enumerate(jpegs):
        paths.append(folder / f"{i:05d}.jpg")
        paths[-1].write_bytes(jpeg)
    return paths


def _jpeg(rng: np.random.Generator, size: int, label: int) -> bytes:
    grid = rng.integers(0, 156, (size // CELL + 1, size // CELL + 1, 3)) + 10 * label
    picture = Image.fromarray(grid.astype(np.uint8)).resize((size, size), Image.Resampling.BICUBIC)
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=90)
    return file.getvalue()
