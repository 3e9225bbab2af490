"""One HTML file that needs no network, and the same as an object of a notebook.

A kind of page is a folder with its own `page.html` (what is in `main`), `page.css` and scripts;
`offline.html` has what is around it, with a policy that lets nothing in or out. What a stranger's
file says travels inside one compressed piece in base64 and is shown as text, so that none of it is
taken for HTML.
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

    `what` names the kind of page, in its title; `finds` says what its search looks for; `folder`
    has its parts, and in it are `scripts`, which run in this order after those that all pages have.
    A notebook stores the line of `repr` for it.
    """

    what: str
    finds: str
    folder: Path
    scripts: tuple[str, ...]
    height = 760  # in a notebook, in pixels

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data

    @property
    def html(self) -> str:
        """The whole page."""
        shared = [HERE / "offline.js", HERE / "timeline.js"]
        own = [self.folder / name for name in self.scripts]
        frame = _text(HERE / "offline.html")
        fill = {
            "BODY": _text(self.folder / "page.html"),
            "NAME": html.escape(self.name),
            "WHAT": self.what,
            "FINDS": self.finds,
            "STYLE": _text(HERE / "offline.css") + _text(self.folder / "page.css"),
            "SCRIPT": "".join(map(_text, [*shared, *own])),
            "DATA": base64.b64encode(self.data).decode(),
        }
        return re.sub(r"\{\{([A-Z]+)\}\}", lambda found: fill[found[1]], frame)

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
        """The page as a notebook stores it, by media type: for readers without a kernel."""
        return {"text/plain": repr(self)}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
