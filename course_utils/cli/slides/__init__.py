"""Slides of a chapter: its cells as stored, in one HTML file that needs no network.

The page lays itself out: a slide is 1280 × 720, whatever the screen, and takes what fits it.
Keys: → space PageDown forward, ← PageUp back, Home, End, f for the full screen.
"""

import base64
import html
import mimetypes
import re
from pathlib import Path
from typing import Any

from course_utils.core import files

HERE = Path(__file__).parent
SLIDES = files.ROOT / "build" / "slides"
TASK = re.compile(r"(?<=[.?!:)]) (?=\*\*(?:Predict|Find|Count|Try)\b)")
SET_UP = re.compile(r"^start\(", re.M)


def make(path: Path, folder: Path = SLIDES) -> Path:
    """Writes the slides of a notebook as stored; returns the file, named as the notebook is.

    Raises: OSError, ValueError where the notebook can't be read or the file not be written.
    """
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    target = folder / f"{path.stem}.html"
    files.write_whole(target, page(notebook, path.parent))
    return target


def page(notebook: Any, folder: Path) -> str:
    """The whole file: style, script and every cell as a piece for the script to lay out.

    `folder` is where pictures that the text names are found.
    """
    from pygments.formatters import HtmlFormatter

    pieces = [piece for cell in notebook.cells for piece in _pieces(cell, folder)]
    fill = {
        "TITLE": html.escape(_title(notebook)),
        "STYLE": _own("deck.css") + HtmlFormatter().get_style_defs(".code"),
        "PIECES": "\n".join(pieces),
        "SCRIPT": _own("deck.js"),
    }
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda found: fill[found[1]], _own("deck.html"))


def _own(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _title(notebook: Any) -> str:
    first = next((c.source for c in notebook.cells if c.source.startswith("# ")), "# Slides")
    return first.splitlines()[0].removeprefix("# ")


def _pieces(cell: Any, folder: Path) -> list[str]:
    if cell.cell_type == "markdown":
        return [f'<div class="words">{_words(cell.source, folder)}</div>']
    if cell.cell_type != "code" or not cell.source.strip():
        return []
    shown = [piece for output in cell.outputs if (piece := _output(output))]
    code = "" if SET_UP.search(cell.source) else _code(cell.source)
    return [f'<div class="cell">{code}{"".join(shown)}</div>']


def _words(source: str, folder: Path) -> str:
    """Markdown as HTML: a task stands alone, links are words, pictures are inside the page."""
    import mistune

    text = str(mistune.create_markdown(escape=False, plugins=["table"])(TASK.sub("\n\n", source)))
    text = re.sub(r"<a [^>]*>(.*?)</a>", r'<span class="link">\1</span>', text, flags=re.S)
    return re.sub(r'src="([^"]+)"', lambda found: f'src="{_inside(found[1], folder)}"', text)


def _inside(address: str, folder: Path) -> str:
    """A picture's file as a data: URL; empty for a file outside the course."""
    file = folder / address
    if address.startswith("data:") or not file.is_file():
        return address if address.startswith("data:") else ""
    kind = mimetypes.guess_type(file.name)[0] or "image/png"
    return f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"


def _code(source: str) -> str:
    from ipython_pygments_lexers import IPython3Lexer
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    coloured = highlight(source, IPython3Lexer(), HtmlFormatter(nowrap=True))
    return f'<pre class="code">{_lines(coloured)}</pre>'


def _lines(text: str) -> str:
    """One block for each line, so that a slide may end after any of them."""
    return "".join(f"<div>{line or ' '}</div>" for line in text.rstrip("\n").split("\n"))


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return f'<pre class="said">{_lines(html.escape(output.text))}</pre>'
    data = output.get("data", {})
    if "image/png" in data:
        alt = html.escape(data.get("text/plain", ""), quote=True)
        png = data["image/png"].replace("\n", "")
        return f'<img alt="{alt}" src="data:image/png;base64,{png}">'
    if "text/html" in data:
        return f'<div class="table">{data["text/html"]}</div>'
    if "text/markdown" in data or "text/plain" in data:
        plain = html.escape(data.get("text/markdown") or data["text/plain"])
        return f'<pre class="said">{_lines(plain)}</pre>'
    return ""
