"""A picture and its text belong together: the PNG says which text is its own, and that it is whole.

A stamp is a text chunk of the PNG with two digests: of all other bytes of the file, and of the
text. So a picture that was mirrored, emptied, drawn again or put beside another text is found out.
"""

import hashlib
import struct
import zlib

KEYWORD = b"course\0"
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def stamp(png: bytes, text: str) -> bytes:
    """The PNG with the stamp of `text`, in place of any that it had; other bytes stay as they are.

    Raises: ValueError for what isn't a PNG.
    """
    bare, _ = _parted(png)
    said = KEYWORD + _wanted(bare, text)
    chunk = struct.pack(">I", len(said)) + b"tEXt" + said
    chunk += struct.pack(">I", zlib.crc32(chunk[4:]))
    return bare[:33] + chunk + bare[33:]  # the signature and the header are 33 bytes


def is_of(png: bytes, text: str) -> bool:
    """Whether the PNG carries the stamp of this text, and is the picture that was stamped.

    Raises: ValueError for what isn't a PNG.
    """
    bare, said = _parted(png)
    return said == _wanted(bare, text)


def _wanted(bare: bytes, text: str) -> bytes:
    digests = (hashlib.sha256(part).hexdigest()[:32] for part in (bare, text.encode()))
    return " ".join(digests).encode()


def _parted(png: bytes) -> tuple[bytes, bytes | None]:
    """The PNG without its stamp, and what the stamp says."""
    if not png.startswith(SIGNATURE):
        raise ValueError("not a PNG")
    at, said = len(SIGNATURE), None
    kept = [png[:at]]
    while at < len(png):
        end = at + 12 + int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8 + len(KEYWORD)] == b"tEXt" + KEYWORD:
            said = png[at + 8 + len(KEYWORD) : end - 4]
        else:
            kept.append(png[at:end])
        at = end
    return b"".join(kept), said
