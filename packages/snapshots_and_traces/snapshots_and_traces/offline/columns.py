"""Words and columns of numbers as one compressed piece, which `offline.js` unpacks.

The piece, compressed by zlib, is: 4 bytes, how long the words are (little endian); the words, JSON;
then the columns. A column holds whole numbers from 0 in as few bytes each as the largest needs,
all their lowest bytes first, then all their second ones: equal bytes lie together, which
compresses well. The words say where each column begins, how wide and how long it is.
"""

import json
import struct
import zlib
from typing import Any

import numpy as np

LEVEL = 6


class Columns:
    """Columns packed one after the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.at = 0

    def add(self, values: np.ndarray) -> list[int]:
        """Packs a column; gives where it begins, the bytes of a number, how many numbers."""
        numbers = np.ascontiguousarray(values, np.int64).clip(0)
        width = max((int(numbers.max(initial=0)).bit_length() + 7) // 8, 1)
        planes = numbers.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width]
        place = [self.at, width, len(numbers)]
        self.parts.append(planes.T.tobytes())
        self.at += width * len(numbers)
        return place

    def together(self) -> bytes:
        """All columns."""
        return b"".join(self.parts)


def packed(words: dict[str, Any], columns: bytes) -> bytes:
    """Words and columns as one compressed piece."""
    text = json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode()
    return zlib.compress(struct.pack("<I", len(text)) + text + columns, LEVEL)
