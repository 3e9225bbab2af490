"""A pickle's repeated lists, written out once.

torch writes a call stack as a list of its own for each event, up to 400 bytes of references to the
same few frames. So a list of references that was there before, byte for byte, becomes one short
instruction that asks for the first: what is read is equal, in less time and memory.
"""

import re
from typing import Any

BEGINNING = b"]\x94("  # of a list that is put together at once
REFERENCES = re.compile(
    rb"\]\x94(\((?:(?>(?:h.){8}|(?:j....){8}|h.|j....))*+(e(?!\())?+)", re.DOTALL
)
PERHAPS_END = re.compile(rb"e[hju]")  # of a list, or in the middle of a reference


def with_lists_once(body: bytes) -> bytes:
    """The same program, with each list of references written out once.

    Lists are looked for by their bytes alone: text can't hold these, as they aren't UTF-8, but a
    number can, so the result has to be checked like any program.
    """
    lists = _Lists()
    parts, copied, at = bytearray(), 0, body.find(BEGINNING)
    while at >= 0:
        number, stop, is_new = lists.at(body, at)
        if is_new:
            parts += body[copied:stop] + b"Q"
            copied = stop
        elif number is not None:
            parts += body[copied:at] + b"J" + number.to_bytes(4, "little") + b"Q\x94"
            copied = stop
        at = body.find(BEGINNING, stop)
    return bytes(parts + body[copied:])


class _Lists:
    """The lists of references there were, by their bytes.

    Where one ends is told by a regular expression, byte by byte; one that was there before is
    known sooner, by its bytes up to what may be its end, and then by all of them.
    """

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.number_of: dict[bytes, int] = {}
        self.guess: dict[bytes, int] = {}

    def at(self, body: bytes, at: int) -> tuple[int | None, int, bool]:
        """Which list begins at a place, its end, and whether it is new.

        None for what isn't one, and where its references end: no list begins within these.
        """
        perhaps = PERHAPS_END.search(body, at, at + 2000)
        beginning = body[at + 2 : perhaps.end() if perhaps else at]
        known = self.guess.get(beginning)
        if known is not None and body.startswith(self.texts[known], at + 2):
            return known, at + 2 + len(self.texts[known]), False
        found: Any = REFERENCES.match(body, at)
        if not found[2]:
            return None, found.end(), False
        number = self.guess[beginning] = self.number_of.setdefault(found[1], len(self.texts))
        if number == len(self.texts):
            self.texts.append(found[1])
            return number, found.end(), True
        return number, found.end(), False
