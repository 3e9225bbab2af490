"""A pickle's repeated lists, written out once.

torch writes a call stack as a list of its own for each event, up to 400 bytes of references to the
same few frames. So a list of references that was there before, byte for byte, becomes one short
instruction that asks for the first: what is read is equal, in less time and memory.
"""

import re
from collections.abc import Iterable, Iterator

BEGINNING = b"]\x94("  # of a list that is put together at once
PIECE = 2**20  # bytes that are taken apart at once
# A list of references, if what looks like its end is the end; the e of "he" is mostly a reference.
# It matches even where there is no end, so that nothing is looked at twice.
PERHAPS = re.compile(rb"\]\x94(\([hj](?:[^e]++|e(?![hju\]}e])|(?<=h)e)*+e?+)")
REFERENCES = re.compile(rb"\((?>(?:h.){8}|(?:j....){8}|h.|j....)*+e(?!\()", re.DOTALL)


def with_lists_once(parts: Iterable[bytes]) -> bytes:
    """The same program, of parts in order, with each list of references written out once.

    Lists are looked for by their bytes alone: text can't hold these, as they aren't UTF-8, but a
    number can, so the result has to be checked like any program.
    """
    again: dict[bytes, bytes] = {}  # by the bytes of a list that was there: what asks for it
    return b"".join([_shortened(piece, again) for piece in _pieces(parts)])


def _pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces that begin with a list."""
    waiting, size = [b""], 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= PIECE:
            piece, size = b"".join(waiting), 0
            stop = piece.rfind(BEGINNING)
            stop = stop if stop > 0 else len(piece)
            yield piece[:stop]
            waiting = [piece[stop:]]
    yield b"".join(waiting)


def _shortened(body: bytes, again: dict[bytes, bytes]) -> bytes:
    """A part of a program; the lists that are new in it join `again`."""
    pieces = PERHAPS.split(body)  # what perhaps is a list at each odd place
    for place in range(1, len(pieces), 2):
        short = again.get(pieces[place])
        if short:
            pieces[place] = short
        else:
            pieces[place : place + 2] = _looked_at(pieces[place], pieces[place + 1], again)
    return b"".join(pieces)


def _looked_at(perhaps: bytes, after: bytes, again: dict[bytes, bytes]) -> tuple[bytes, bytes]:
    """What stands for something not seen yet, and what is left after it: the list may end sooner or
    later, as a byte of a reference can look like the end, and the end like something else.
    """
    text = perhaps + after
    found = REFERENCES.match(text)
    if not found:
        return BEGINNING[:-1] + perhaps, after
    whole, after = found[0], text[found.end() :]
    if whole in again:
        return again[whole], after
    again[whole] = b"J" + len(again).to_bytes(4, "little") + b"Q\x94"
    return BEGINNING[:-1] + whole + b"Q", after
