"""A picture and its text belong together: the PNG says which text is its own.

So a picture that was mirrored, emptied, drawn again or put beside another text is found out.
"""

import hashlib
import io

KEY = "course"  # of the PNG's text chunk


def stamp(png: bytes, text: str) -> bytes:
    """The PNG with digests of its pixels and of the text in it."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    info, stamped = PngInfo(), io.BytesIO()
    info.add_text(KEY, _digests(png, text))
    Image.open(io.BytesIO(png)).save(stamped, format="png", optimize=True, pnginfo=info)
    return stamped.getvalue()


def is_of(png: bytes, text: str) -> bool:
    """Whether the PNG carries the stamp of this text, and shows what was stamped."""
    from PIL import Image

    return bool(Image.open(io.BytesIO(png)).info.get(KEY) == _digests(png, text))


def _digests(png: bytes, text: str) -> str:
    from PIL import Image

    pixels = Image.open(io.BytesIO(png)).convert("RGB").tobytes()
    return " ".join(hashlib.sha256(part).hexdigest()[:32] for part in (pixels, text.encode()))
