"""How the course's figures look, and a figure as something that a notebook keeps."""

import io
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colour-blind safe palette; the first two mean live and recorded in every chapter.
COLOURS = {"live": "#0072B2", "recorded": "#D55E00", "published": "#6B6B6B"}
MARKS = {"live": "o", "recorded": "s", "published": "D"}
# Kinds of work in a timeline, in none of the two colours above; waiting is always grey.
KINDS = {
    "launch": "#009E73",
    "run": "#F0E442",
    "compute": "#F0E442",
    "copy": "#CC79A7",
    "wait": "#D9D9D9",
    "return": "#56B4E9",
}
OTHER_KINDS = ("#56B4E9", "#E69F00", "#CC79A7", "#009E73")
INK = "#222222"
STYLE: dict[Any, Any] = {
    "font.size": 12,
    "text.parse_math": False,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": "#E3E3E3",
    "lines.linewidth": 2.2,
    "lines.markersize": 7,
}
WIDTH_INCHES, DPI = 8, 100
P = ParamSpec("P")
T = TypeVar("T")


def styled(drawing: Callable[P, T]) -> Callable[P, T]:
    """Draws in the course's style, and leaves the reader's own matplotlib settings alone."""

    @wraps(drawing)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            return drawing(*args, **kwargs)

    return in_style


class Picture:
    """A PNG that shows itself in a notebook, with its message as text for those who can't see."""

    def __init__(self, png: bytes, alt: str) -> None:
        self.png, self.alt = png, alt

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"image/png": self.png, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"[figure] {self.alt}"


def new_figure(title: str, height_inches: float) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    plain = title.replace("$", r"\$")  # a wrapped title is read as mathematics whatever the style
    figure.suptitle(plain, x=0.01, ha="left", fontsize=14, fontweight="bold", wrap=True)
    return figure


def render(figure: "Figure", alt: str) -> Picture:
    """The figure as a Picture, in few colours so that a notebook stays small."""
    from PIL import Image

    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=DPI)
    Image.open(raw).convert("RGB").quantize(96).save(small, format="png", optimize=True)
    return Picture(small.getvalue(), alt)


def axis_unit(largest: float, unit: str) -> tuple[float, str]:
    if unit != "seconds":
        return 1, unit
    for scale, name in ((1, "seconds"), (1e-3, "milliseconds"), (1e-6, "microseconds")):
        if largest >= scale:
            return scale, name
    return 1e-9, "nanoseconds"
