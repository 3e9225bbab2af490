"""Stacked horizontal bars of bytes by kind."""

from collections.abc import Mapping
from textwrap import fill

from course_utils.figures import alt_text, style
from course_utils.figures.guess_line import draw_guess
from snapshots_and_traces.colours import KINDS_OF_BYTES as PARTS

MIB = 2**20


@style.styled
def stacked_bytes(
    title: str, cases: Mapping[str, Mapping[str, int]], origin: str = "", guess: str = ""
) -> style.Picture:
    """Draws a bar for each case: its bytes by kind, stacked in the kinds' colours, with the total.

    `cases` maps a label to bytes by kind; kinds that are zero everywhere are left out. The axis is
    in MiB (2**20 bytes), or GiB from 2,048 MiB on. `origin` names the numbers' source. `guess` is
    the id of a question whose answer is a total: the reader's guess is a dashed line.
    Raises: ValueError without a case, or for a kind that has no colour (`byte_bars.PARTS`).
    """
    unknown = {kind for parts in cases.values() for kind in parts} - PARTS.keys()
    if not cases or unknown:
        wrong = f"no colour for {sorted(unknown)}" if unknown else "no case to draw"
        raise ValueError(f"{title!r}: {wrong}; kinds are {', '.join(PARTS)}")
    largest = max(sum(parts.values()) for parts in cases.values())
    scale, unit = (MIB, "MiB") if largest < 2048 * MIB else (1024 * MIB, "GiB")
    figure, axes = style.one_panel(title, 1.6 + 0.5 * len(cases))
    most = {kind: max(parts.get(kind, 0) for parts in cases.values()) for kind in PARTS}
    used = [kind for kind in PARTS if most[kind] > 0.002 * largest]
    said = [" · ".join(filter(None, [alt_text.origin(origin), f"x: {unit}"]))]
    for place, (name, parts) in enumerate(cases.items()):
        total = _bar(axes, place, parts, scale, unit, largest)
        said.append(alt_text.stack(name, {k: parts.get(k, 0) / scale for k in used}, total))
    style.name_rows(axes, list(cases))
    axes.set(xlim=(0, 1.18 * largest / scale or 1), xlabel=unit)
    style.key_below(figure, {kind: PARTS[kind] for kind in used}, 5)
    if origin:
        axes.set_title(fill(origin, 72), loc="left", fontsize=10.5, color="#555555")
    said.append(draw_guess(axes, guess, "bytes", scale))
    return style.render(figure, title, said)


def _bar(
    axes: "style.Axes", place: int, parts: Mapping[str, int], scale: int, unit: str, largest: int
) -> str:
    """Draws a case and returns the text at its end."""
    left = 0.0
    for kind, colour in PARTS.items():
        size = parts.get(kind, 0) / scale
        axes.barh(place, size, left=left, color=colour, height=0.72)
        if size > 0.07 * largest / scale:
            axes.annotate(
                f"{size:.3g}", (left + size / 2, place), ha="center", va="center", fontsize=10.5
            )
        left += size
    total = f"{left:.3g} {unit}"
    style.write_beside(axes, total, left, place, fontweight="bold")
    return total
