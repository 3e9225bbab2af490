"""One HTML file that needs no network, and the same as an object of a notebook.

A kind of page is a folder with its own `page.html` (the body), `page.css` and scripts; the head,
with a policy that lets nothing in or out, is `offline.html`. What a stranger's file says travels
inside one compressed piece in base64 and is shown as text, so that none of it is taken for HTML.
"""

import base64
import html
import re
from os import PathLike
from pathlib import Path
from typing import Any

from snapshots_and_traces.files import write_whole

HERE = Path(__file__).parent


class OfflinePage:
    """A page that shows itself in a notebook; `save(path)` writes it as one file.

    `what` names the kind of page, in its title; `folder` has its parts, and in it are `scripts`,
    which run after `offline.js` in this order. A notebook stores the line of `repr` for it.
    """

    what: str
    folder: Path
    scripts: tuple[str, ...]
    height = 760  # in a notebook, in pixels

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data

    @property
    def html(self) -> str:
        """The whole page."""
        own = (self.folder / "page.html").read_text(encoding="utf-8")
        template = _shared("offline.html").replace("{{BODY}}", own)
        fill = {
            "NAME": html.escape(self.name),
            "WHAT": self.what,
            "STYLE": _shared("offline.css") + _text(self.folder / "page.css"),
            "SCRIPT": _shared("offline.js") + "".join(_text(self.folder / s) for s in self.scripts),
            "DATA": base64.b64encode(self.data).decode(),
        }
        return re.sub(r"\{\{([A-Z]+)\}\}", lambda found: fill[found[1]], template)

    def save(self, path: "str | PathLike[str]") -> Path:
        """Writes the page, whole or not at all; returns its path. Raises: OSError."""
        path = Path(path)
        write_whole(path, self.html)
        return path

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        from snapshots_and_traces.offline.frame import Frame

        frame = Frame(self.html, self.what, self.height)
        bundle, metadata = frame._repr_mimebundle_(**kwargs) or ({}, {})
        return {**bundle, **self.stored()}, metadata

    def stored(self) -> dict[str, str]:
        """What a notebook keeps of the page, by its kind: for readers without a kernel."""
        return {"text/plain": repr(self)}


def _shared(name: str) -> str:
    return _text(HERE / name)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
