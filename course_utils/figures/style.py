"""The style of the course's figures, and figures as a notebook stores them."""

import base64
import hashlib
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from course_utils.figures import alt_text
from snapshots_and_traces.colours import OTHER_KINDS as OTHER_KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure

# ---- A picture and its text belong together: the PNG says which text is its own.

KEY = "course"  # of the PNG's text chunk


def stamp(png: bytes, text: str) -> bytes:
    """Adds digests of the pixels and of the text to a PNG."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    info, stamped = PngInfo(), io.BytesIO()
    info.add_text(KEY, _digests(png, text))
    Image.open(io.BytesIO(png)).save(stamped, format="png", optimize=True, pnginfo=info)
    return stamped.getvalue()


def is_of(png: bytes, text: str) -> bool:
    """True if the PNG carries the stamp of this text and its pixels are unchanged."""
    from PIL import Image

    return bool(Image.open(io.BytesIO(png)).info.get(KEY) == _digests(png, text))


def _digests(png: bytes, text: str) -> str:
    from PIL import Image

    pixels = Image.open(io.BytesIO(png)).convert("RGB").tobytes()
    return " ".join(hashlib.sha256(part).hexdigest()[:32] for part in (pixels, text.encode()))


# Okabe and Ito's colour-blind safe palette; the first two mean live and recorded in every chapter.
COLOURS = {"live": "#0072B2", "recorded": "#D55E00", "published": "#6B6B6B"}
EXACT = "#009E73"  # bars of what holds on every machine
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
# One colour for each number format, in every chapter; none of them means live or recorded.
FORMAT_COLOURS = {
    "FP32": "#555555",
    "TF32": "#8C6D31",
    "FP16": "#B0508A",
    "BF16": "#117733",
    "E4M3": "#6A3D9A",
    "E5M2": "#C77700",
    "INT8": "#2397B5",
    "FP4": "#882255",
}
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
DIGESTS = "application/vnd.course.digests"
P = ParamSpec("P")
T = TypeVar("T")


def styled(drawing: Callable[P, T]) -> Callable[P, T]:
    """Decorator: draws in the course's style without touching the reader's matplotlib settings."""

    @wraps(drawing)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            return drawing(*args, **kwargs)

    return in_style


class Picture:
    """A PNG with alternative text that describes it; displays itself in a notebook."""

    def __init__(self, png: bytes, alt: str, drawn: str = "") -> None:
        self.png, self.alt, self.drawn = png, alt, drawn

    def bundle(self, first: str) -> dict[str, str]:
        """The outputs that a notebook stores: the text, after the line `first`, and the PNG.

        Digests in the text get an output type of their own, which isn't shown but compared by
        nbval.
        """
        text, digests = alt_text.parted(f"{first}\n{self.drawn}".rstrip())
        png = base64.b64encode(stamp(self.png, text)).decode()
        kept = {"image/png": png, "text/plain": text}
        return kept | ({DIGESTS: digests} if digests else {})

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[Any, Any]:
        return self.bundle(f"[figure] {self.alt}"), {"needs_background": "light"}

    def __repr__(self) -> str:
        return alt_text.parted(f"[figure] {self.alt}\n{self.drawn}".rstrip())[0]


def new_figure(title: str, height_inches: float) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    plain = title.replace("$", r"\$")  # a wrapped title is read as mathematics whatever the style
    figure.suptitle(plain, x=0.01, ha="left", fontsize=14, fontweight="bold", wrap=True)
    return figure


def one_panel(title: str, height_inches: float) -> "tuple[Figure, Axes]":
    """A new figure with one pair of axes."""
    figure = new_figure(title, height_inches)
    return figure, figure.subplots()


def say_origins(figure: "Figure", origins: Iterable[str]) -> str:
    """Writes the sources of the numbers under the figure; returns them as a line of text."""
    found = list(dict.fromkeys(filter(None, origins)))
    figure.supxlabel("\n".join(found), fontsize=9, color="#555555", x=0.01, ha="left")
    return " · ".join(map(alt_text.origin, found))


def name_rows(axes: "Axes", names: Sequence[str], above: float = 0.6) -> None:
    """Labels the rows from the top down; leaves `above` units of room over the first."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -above)
    axes.tick_params(axis="y", length=0)


def write_beside(axes: "Axes", text: str, x: float, y: float, **how: Any) -> None:
    """Writes words to the right of a point."""
    axes.annotate(text, (x, y), (5, 0), textcoords="offset points", va="center", **how)


def draw_spread(axes: "Axes", place: int, low: float, high: float) -> None:
    """Draws a thin line over a horizontal bar, from a measurement's lower to its upper quartile."""
    axes.plot([low, high], [place, place], color=INK, linewidth=1.5, zorder=3)


def key_below(figure: "Figure", colours: Mapping[str, str], columns: int, **how: Any) -> None:
    """Names colours under the panels."""
    from matplotlib.patches import Patch

    patches = [Patch(color=colour, label=name) for name, colour in colours.items()]
    look: dict[str, Any] = {"loc": "outside lower left", "frameon": False, "fontsize": 10.5}
    figure.legend(handles=patches, ncols=columns, **look | how)


def round_box(
    axes: "Axes", at: tuple[float, float], wide: float, tall: float, radius: float, **look: Any
) -> None:
    """Draws a rectangle with rounded corners from its lower left one."""
    from matplotlib.patches import FancyBboxPatch

    shape = f"round,pad=0,rounding_size={radius}"
    axes.add_patch(FancyBboxPatch(at, wide, tall, boxstyle=shape, **look))


def render(figure: "Figure", alt: str, lines: Iterable[str], colours: int = 96) -> Picture:
    """Renders the figure as a Picture, with few colours so that a notebook stays small.

    `lines` describe what it shows, numbers included, as functions of `alt_text` write them: with ≈
    before what varies from run to run.
    """
    from PIL import Image

    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=DPI)
    Image.open(raw).convert("RGB").quantize(colours).save(small, format="png", optimize=True)
    return Picture(small.getvalue(), alt, alt_text.text(lines))


def axis_unit(largest: float, unit: str) -> tuple[float, str]:
    """A divisor for the axis's numbers and the axis label, in a readable unit of seconds."""
    if unit != "seconds":
        return 1, unit
    for scale, name in ((1, "seconds"), (1e-3, "milliseconds"), (1e-6, "microseconds")):
        if largest >= scale:
            return scale, name
    return 1e-9, "nanoseconds"


def shade(colour: str, place: int, count: int) -> str:
    """One of `count` shades of a colour, dark to light; the colour itself for fewer than 3."""
    from matplotlib.colors import to_hex, to_rgb

    if count < 3:
        return colour
    share = 1.1 * (place % count) / (count - 1) - 0.5  # below 0 towards black, above towards white
    end = 0.0 if share < 0 else 1.0
    red, green, blue = (c + (end - c) * abs(share) for c in to_rgb(colour))
    return to_hex((red, green, blue))


def format_colour(label: str) -> str | None:
    """The colour of the first number format that a label names; None if it names none."""
    places = {label.find(name): name for name in FORMAT_COLOURS if name in label}
    return FORMAT_COLOURS[places[min(places)]] if places else None


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_two(number: float) -> str:
    """Formats a power of two: `2⁻⁹`; 1, 2, 4 and 8 as they are."""
    power = round(math.log2(number))
    return str(2**power) if 0 <= power < 4 else f"2{str(power).translate(SUPERSCRIPTS)}"


def tick(value: float, label: str = "") -> str:
    """Formats a number at an axis: 1,500, 2 M, 0.01, 10⁻⁶; seconds with their unit."""
    from matplotlib.ticker import EngFormatter

    if label in ("seconds", "seconds per number"):
        return EngFormatter(unit="s")(value)
    if abs(value) >= 100_000:
        return EngFormatter()(value)
    if 0 < value < 1e-3 and f"{value:.0e}" == f"{value:e}".replace(".000000", ""):
        digits, exponent = f"{value:.0e}".split("e")
        power = str(int(exponent)).translate(SUPERSCRIPTS)
        return f"10{power}" if digits == "1" else f"{digits}·10{power}"
    return f"{value:,.6g}"
