"""Draws the reader's prediction: a dashed line, a band, or a mark at the chosen row."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from course_utils.core import guesses

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOUR = "#7B5EA7"


def draw_guess(
    axes: "Axes", id: str, unit: str, scale: float = 1, rows: Sequence[str] = (), along: str = "x"
) -> str:
    """Draws the reader's guess at question `id`, if there is one, without changing the axes'
    limits.

    Returns the line of text that describes it, empty without a guess. `unit` is the axis's unit
    before the division by `scale`; `along` names the numeric axis. A guess beyond the axis becomes
    an arrow at its end. Guessed names are marked at their rows among `rows`.
    """
    guess = guesses.of(id) if id else None
    if guess is None:
        return ""
    if guess.among:
        chosen = [row in guess.named for row in rows]
        names = [f"{row} ◂ you" if own else row for row, own in zip(rows, chosen, strict=True)]
        axes.set_yticks(range(len(rows)), names)
        for label, own in zip(axes.get_yticklabels(), chosen, strict=True):
            if own:
                label.set(color=COLOUR, fontweight="bold")
        return f"  you: {', '.join(row for row in rows if row in guess.named)}"
    on_x = along == "x"
    first, last = sorted(axes.get_xlim() if on_x else axes.get_ylim())
    low, high = (end / scale for end in guess.ends(unit))
    words = f"you: {guess}"
    if high < first or low > last:
        return _point_outside(axes, words, on_x, is_above=low > last)
    inside = [end for end in dict.fromkeys((low, high)) if first <= end <= last]
    low, high = max(low, first), min(high, last)
    span, line = (axes.axvspan, axes.axvline) if on_x else (axes.axhspan, axes.axhline)
    if low < high:
        span(low, high, color=COLOUR, alpha=0.15, linewidth=0)
    for end in inside:
        line(end, color=COLOUR, linestyle="--", linewidth=1.8)
    if on_x:
        _write(axes, words, (low, 0), ("data", "axes fraction"))
    else:
        _write(axes, words, (0, low), ("axes fraction", "data"))
    edges = " to ".join(f"{end:.3g}" for end in dict.fromkeys((low, high)))
    return f"  {words}, at {along} = {edges}"


def _point_outside(axes: "Axes", words: str, on_x: bool, is_above: bool) -> str:
    """Draws words and an arrow at that end of the axis, where there are no bars."""
    arrow = ("→" if is_above else "←") if on_x else ("↑" if is_above else "↓")
    if on_x:
        how = {"ha": "right", "va": "bottom"}
        _write(axes, f"{words} {arrow}", (1, 1), ("axes fraction", "axes fraction"), **how)
    else:
        how = {"ha": "left", "va": "top" if is_above else "bottom"}
        place = (0.5, 1 if is_above else 0)
        _write(axes, f"{words} {arrow}", place, ("axes fraction", "axes fraction"), **how)
    return f"  {words} {arrow}"


def _write(
    axes: "Axes", words: str, place: tuple[float, float], of: tuple[str, str], **how: Any
) -> None:
    """Writes words on a white ground, so that they can be read on a bar, too."""
    ground = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5}
    right = -4 if how.get("ha") == "right" else 4
    up = -4 if how.get("va") == "top" else 4
    axes.annotate(
        words, place, (right, up), xycoords=of, textcoords="offset points", color=COLOUR,
        fontsize=10, fontweight="bold", bbox=ground, **({"va": "bottom"} | how),
    )  # fmt: skip
