"""What a figure draws, as text: read from the finished figure, not from what was meant.

It stands under the picture's title, for readers without pictures, and so that comparing the
outputs of a page compares what its figures draw. What varies from run to run has its ≈, stands in
an order that doesn't depend on it, and leaves its machine and its date out.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from course_utils.figures.drawn.bars import bars, is_live_unit, row_names
from course_utils.figures.drawn.rounded import amount, digest, joined, number, reach, settled
from course_utils.figures.drawn.words import Words, origins

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

LIVE, LOCAL = "live", "local"
FEW, MOST = 3, 8  # marks, and points of a curve, that are told one by one
SCALES = {"linear": "", "log": "logarithmic"}
LONGEST = 1400  # characters of a figure's text


def mark_live(*artists: "Artist") -> None:
    """What these draw varies from run to run: all in these axes, or a line's height over its x."""
    for artist in artists:
        artist.set_gid(LIVE)


def mark_local(*artists: "Artist") -> None:
    """What these draw, or all in these axes, differs from machine to machine: it isn't told."""
    for artist in artists:
        artist.set_gid(LOCAL)


def describe(figure: "Figure", title: str, live: bool) -> str:
    """The text of a figure that was drawn; `live` says that all of it varies from run to run.

    `title` is the one that the text stands under: the figure's own is told where it differs.
    """
    own = joined([figure.get_suptitle().replace(r"\$", "$")])
    lines = [own] if own not in joined([title]) else []
    for axes in figure.axes:
        lines += _panel(axes, live or axes.get_gid() == LIVE)
    lines += [joined(origins(figure.get_supxlabel()))]
    return "\n".join(_cut([line for line in lines if line.strip()]))


def _cut(lines: list[str]) -> list[str]:
    """The lines that there is room for, and of the others a digest."""
    room, kept = LONGEST, 0
    while kept < len(lines) and (room := room - len(settled(lines[kept])) - 1) > 0:
        kept += 1
    rest = [settled(line) for line in lines[kept:]]
    return [*lines[:kept], *([f"… {len(rest)} lines more {digest(rest)}"] if rest else [])]


def _panel(axes: "Axes", live: bool) -> list[str]:
    if axes.get_gid() == LOCAL:
        return [f"{axes.get_title(loc='left')}: differs from machine to machine"]
    varies = live or any(line.get_gid() in (LIVE, LOCAL) for line in axes.lines)
    words = Words(axes, [text for text in axes.texts if text.get_gid() != LOCAL])
    body = [*bars(axes, words, live), *_lines(axes, words, live), *_areas(axes, words, live)]
    body += _boxes(axes, live)
    told = "\n".join(body)
    titles = [*origins(axes.get_title(loc="left")), axes.get_title()]
    head = joined(filter(None, [*titles, *_axes(axes, varies)]))
    return [head, *(f"  {line}" for line in [*body, *words.rest(varies, told)])]


def _axes(axes: "Axes", varies: bool) -> Iterator[str]:
    """What each axis says: its label, its scale, its direction; its ends where nothing varies."""
    if not axes.axison:
        return
    rows = bool(row_names(axes))
    for axis in (axes.xaxis, axes.yaxis):
        name, label = axis.axis_name, axis.get_label().get_text()
        if (name == "y" and rows) or not np.size(axis.get_ticklocs()):
            continue
        ends = not varies and not axes.containers
        parts = [
            "" if name == "x" and varies and is_live_unit(axes) else label,
            SCALES.get(axis.get_scale(), axis.get_scale()),
            "reversed" if axis.get_inverted() else "",
            reach(axis.get_view_interval(), live=False) if ends else "",
        ]
        if any(parts):
            yield f"{name}: {', '.join(filter(None, parts))}"


def _lines(axes: "Axes", words: Words, live: bool) -> Iterator[str]:
    """Curves one by one; marks of one point, and strokes of two without a name, together."""
    marks: dict[tuple[str, bool], list[tuple[np.ndarray, str]]] = {}
    across = (axes.get_xaxis_transform(), axes.get_yaxis_transform())
    shown = [(line, _points(line)) for line in axes.lines if line.get_gid() != LOCAL]
    shown.sort(key=lambda one: len(one[1]) != 1)  # a mark takes its name before a stroke to it
    for line, points in shown:
        varies = live or line.get_gid() == LIVE
        if any(line.get_transform() is one for one in across):
            yield _across(points, line.get_transform() is across[0], varies)
            continue
        name = words.take(*points[-1]) if len(points) else ""
        if len(points) == 1:
            marks.setdefault(("mark", varies), []).append((points, name))
            continue
        name = name or words.name_of(line.get_label())
        if len(points) == 2 and not name:
            marks.setdefault(("stroke", varies), []).append((points, ""))
        else:
            yield f"{name or 'line'}: {_curve(points, line, live, varies)}"
    for (what, varies), found in marks.items():
        yield from _together(what, found, varies)


def _points(line: "Line2D") -> np.ndarray:
    return np.column_stack([np.asarray(values, float) for values in line.get_data()])


def _across(points: np.ndarray, upright: bool, varies: bool) -> str:
    x, y = points[0]
    return f"line at {'x' if upright else 'y'} = {amount(x if upright else y, varies)}"


def _curve(points: np.ndarray, line: "Line2D", live: bool, varies: bool) -> str:
    """The points of a curve; where there are many, its ends, its reach and a digest."""
    steps = " (in steps)" if line.get_drawstyle() != "default" else ""
    if len(points) <= MOST:
        return "; ".join(f"{amount(x, live)} → {amount(y, varies)}" for x, y in points) + steps
    (x0, y0), (x1, y1) = points[0], points[-1]
    first = f"({amount(x0, live)} → {amount(y0, varies)})"
    last = f"({amount(x1, live)} → {amount(y1, varies)})"
    mark = f" {digest(points[:, :1])}" if varies else f" {digest(points)}"
    between = reach(points[:, 1], varies)
    return f"{len(points)} points from {first} to {last}, y {between}{steps}{'' if live else mark}"


def _together(what: str, found: list[tuple[np.ndarray, str]], varies: bool) -> Iterator[str]:
    """Marks or strokes as one line; exact marks that are few, each with its place."""
    if what == "mark" and not varies and len(found) <= FEW:
        for ((x, y),), name in found:
            yield f"{name or what}: {number(x)} → {number(y)}"
        return
    names = [name for _, name in found if name]
    names = sorted(names, key=settled) if varies else names
    where = "" if varies else f" {digest(np.concatenate([points for points, _ in found]))}"
    many = "" if len(found) == 1 else "s"
    yield f"{len(found)} {what}{many}{f': {joined(names)}' if names else ''}{where}"


def _areas(axes: "Axes", words: Words, live: bool) -> Iterator[str]:
    """Collections (strokes, filled areas, scattered marks) and images."""
    from matplotlib.collections import LineCollection, PathCollection

    for one in axes.collections:
        scattered = isinstance(one, PathCollection)
        shapes = [one.get_offsets()] if scattered else [p.vertices for p in one.get_paths()]
        if one.get_gid() == LOCAL or not shapes:
            continue
        corners = np.concatenate(shapes)
        count = len(corners) if scattered else len(shapes)
        what = "mark" if scattered else "stroke" if isinstance(one, LineCollection) else "area"
        text = words.name_of(one.get_label()) or f"{count} {what}{'' if count == 1 else 's'}"
        colours = one.get_facecolor()
        where = f"x {reach(corners[:, 0], live)}; y {reach(corners[:, 1], live)}"
        sizes = [np.size(shape) for shape in shapes]
        yield f"{text}: {where}{'' if live else ' ' + digest(corners, sizes, colours)}"
    for image in axes.images:
        array = np.asarray(image.get_array())
        size = " × ".join(map(str, array.shape[:2]))
        yield f"image of {size} cells{'' if live else ' ' + digest(array)}"


def _boxes(axes: "Axes", live: bool) -> Iterator[str]:
    """What is drawn as boxes and isn't a bar, with places and colours in the digest."""
    of_bars = {id(box) for group in axes.containers for box in group}
    boxes = [b for b in axes.patches if id(b) not in of_bars and b.get_gid() != LOCAL]
    if boxes:
        places = [b.get_path().get_extents(b.get_patch_transform()).bounds for b in boxes]
        mark = "" if live else f" {digest(places, [b.get_facecolor() for b in boxes])}"
        yield f"{len(boxes)} boxes{mark}"
