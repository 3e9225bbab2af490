"""Shows a report as it looks in a terminal."""

from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.display import Markdown

WIDTH = 96  # characters of a line in a cell


def as_printed(text: str) -> "Markdown":
    """Shows a text in a fixed-width font, with every space kept and long lines folded."""
    from IPython.display import Markdown

    folded = (wrap(line, WIDTH, subsequent_indent=" " * 4) for line in text.splitlines())
    return Markdown("\n".join(["```", *(line for lines in folded for line in lines), "```"]))
