"""What a page of one file carries, unpacked."""

import base64
import json
import re
import struct
import zlib
from typing import Any

import numpy as np


def unpacked(page: str) -> tuple[dict[str, Any], bytes]:
    """The words and columns inside a page's HTML."""
    found = re.search(r'id="data">([^<]*)</script>', page)
    assert found
    whole = zlib.decompress(base64.b64decode(found[1]))
    (length,) = struct.unpack("<I", whole[:4])
    return json.loads(whole[4 : 4 + length]), whole[4 + length :]


def column(place: list[int], columns: bytes) -> Any:
    """A column by where it begins, its width and its length, as the page reads it."""
    at, width, length = place
    numbers = [0] * length
    for plane in range(width):
        for place_, byte in enumerate(columns[at + plane * length : at + (plane + 1) * length]):
            numbers[place_] += byte << (8 * plane)
    return np.array(numbers, np.int64)
