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
LONGEST_BEGINNING = 2000  # bytes, of a list that is to be known again
PERHAPS_END = re.compile(rb"e[hju]")  # of a list, or in the middle of a reference


def with_lists_once(body: bytes) -> bytes:
    """The same program, with each list of references written out once.

    Lists are looked for by their bytes alone: text can't hold these, as they aren't UTF-8, but a
    number can, so the result has to be checked like any program. Where a list ends is told by a
    regular expression, byte by byte; one that was there before is known sooner, by its bytes up to
    what may be its end, and then by all of them.
    """
    numbers: dict[bytes, int] = {}  # of the lists there were, by their bytes
    likely: dict[bytes, tuple[bytes, bytes]] = {}  # by how one begins: its bytes, what asks for it
    parts: list[bytes] = []
    copied, at = 0, body.find(BEGINNING)
    while at >= 0:
        perhaps = PERHAPS_END.search(body, at, at + LONGEST_BEGINNING)
        beginning = body[at + 2 : perhaps.end() if perhaps else at]
        text, again = likely.get(beginning, (b"", b""))
        if text and body.startswith(text, at + 2):
            parts += (body[copied:at], again)
            stop = copied = at + 2 + len(text)
        else:
            found: Any = REFERENCES.match(body, at)
            stop = found.end()  # within references no list begins
            if found[2]:
                count = len(numbers)
                number = numbers.setdefault(found[1], count)
                again = b"J" + number.to_bytes(4, "little") + b"Q\x94"
                likely[beginning] = found[1], again
                is_new = number == count
                parts += (body[copied:stop], b"Q") if is_new else (body[copied:at], again)
                copied = stop
        at = body.find(BEGINNING, stop)
    return b"".join([*parts, body[copied:]])
