"""Figures that compare live, recorded and published evidence, each with its source."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any

from course_utils.core.evidence import Series, Values
from course_utils.core.measurement import format_ratio, format_seconds
from course_utils.figures import alt_text, style
from course_utils.figures.guess_line import draw_guess

SMALL = 1 / 64  # smaller powers of two have over six decimals


@style.styled
def compare_bars(
    title: str,
    *evidence: Values | None,
    unit: str = "seconds",
    line: tuple[float, str] | None = None,
    guess: str = "",
) -> style.Picture:
    """Draws horizontal bars: a panel for each kind of evidence, with axes from zero.
    Panels of one unit have one scale. Measurements are drawn as medians, with a thin line from
    quartile to quartile.

    Live values are a dict from label to value; recorded and published figures are passed as they
    are. Evidence that is None or empty is left out. `unit` is "seconds" or words for the axis.
    `line`, in the same unit, is a line in the live panel, with its label. `guess` is the id of a
    question: if the reader predicted, the prediction is drawn there, too.
    Raises: ValueError if no evidence is left.
    """
    shown = [Series.of(e) for e in evidence if e]
    if not shown:
        raise ValueError(f"No evidence at all for {title!r}: not live, not recorded, not published")
    heights = [len(s.values) + 1.6 for s in shown]
    figure = style.new_figure(title, 0.9 + 0.36 * sum(heights))
    panels = figure.subplots(len(shown), 1, gridspec_kw={"height_ratios": heights}, squeeze=False)
    lines: list[str] = []
    chars = _chars_over_bars([str(label) for one in shown for label in one.values])
    for axes, one in zip(panels[:, 0], shown, strict=True):
        lines += _bars(axes, one, one.unit or unit, line if one.kind == "live" else None, chars)
    _share_scales(list(panels[:, 0]))
    place = next((at for at, one in enumerate(shown) if one.kind == "live"), 0)
    own = shown[place].unit or unit
    scale, _ = style.axis_unit(_largest(shown[place], line), own)
    lines.append(draw_guess(panels[place, 0], guess, own, scale, list(shown[place].values)))
    return style.render(figure, title, lines, 48)


@style.styled
def compare_lines(
    title: str,
    lines: "Sequence[tuple[str, Values | None]]",
    *,
    x_label: str,
    y_label: str,
    log: str = "",
    steps: bool = False,
    marks: Mapping[float, str] | None = None,
    guess: str = "",
    guess_at: str = "",
    x_varies: bool = False,
    look: Mapping[str, Mapping[str, Any]] | None = None,
) -> style.Picture:
    """Draws lines over a numeric x, each with its label at its end; `log` names axes: "x", "y",
    "xy".

    A line is (label, values). Live lines are solid with discs, recorded ones dashed with squares,
    published ones dotted with diamonds; several of one kind have shades of its colour. With `steps`
    a value holds until the next x. Pass predictions as `Series.predicted(...)` (dotted, black) and
    exact values as `Series.exact(...)` (a colour each); a prediction beside live lines is assumed
    to be made from them. `marks` are words at places on the x axis, such as the sizes of caches;
    beside live lines they are this machine's. `guess` and `guess_at` are ids of questions whose
    answers are a height and a place on the x axis: the reader's guesses are dashed lines.
    `x_varies` says that the machine decides how far the live lines reach. `look` has properties of
    matplotlib's lines by label, instead of those above: `{"FP16": {"color": …, "marker": "o"}}`.
    """
    figure, axes = style.one_panel(title, 4.6)
    ends: list[tuple[float, float, str, str]] = []
    shown = [(label, Series.of(values)) for label, values in lines if values]
    some_live = any(one.kind == "live" for _, one in shown)
    for place, (label, one) in enumerate(shown):
        like = [other for _, other in shown if other.kind == one.kind]
        how = (look or {}).get(label, {})
        ends.append(_line(axes, label, one, place, len(like), steps, how))
    if "x" in log:
        wide = [x for _, one in shown for x in one.values]
        doubles = max(wide) < 1000 * min(wide) or (min(wide) < SMALL and _are_powers(wide))
        _make_log(axes, "x", base=2 if doubles else 10)
    if "y" in log:
        high = [y for _, one in shown for y in one.values.values()]
        _make_log(axes, "y", base=2 if _are_powers(high) else 10)
    for axis, label in ((axes.xaxis, x_label), (axes.yaxis, y_label)):
        axis.set_major_formatter(_ticks(axis, label))
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(True)
    _label_ends(axes, ends, "y" in log)
    seconds = "".join(n for n, of in (("x", x_label), ("y", y_label)) if of.startswith("seconds"))
    said = [
        alt_text.axes(x_label, y_label, log),
        *_told(shown, some_live, x_varies, steps, seconds),
    ]
    for x, words in (marks or {}).items():
        _mark(axes, x, words)
    if marks:
        places = "; ".join(f"{words} at {alt_text.number(x)}" for x, words in marks.items())
        said.append(f"  marks: {alt_text.local(places) if some_live else places}")
    said += [draw_guess(axes, guess, y_label, along="y"), draw_guess(axes, guess_at, x_label)]
    said.append(style.say_origins(figure, sorted(one.provenance for _, one in shown)))
    return style.render(figure, title, said, 48)


@style.styled
def number_lines(
    title: str, values: Sequence[float], zooms: Sequence[tuple[float, float]]
) -> style.Picture:
    """Draws the numbers of a format as strokes on a line, once for each zoom (from, to)."""
    figure = style.new_figure(title, 0.7 + 0.95 * len(zooms))
    panels = figure.subplots(len(zooms), 1, squeeze=False)
    said = []
    for axes, (low, high) in zip(panels[:, 0], zooms, strict=True):
        shown = [v for v in values if low <= v <= high]
        axes.vlines(shown, 0, 1, color=style.INK, linewidth=1)
        axes.set(xlim=(low, high), ylim=(0, 1.5))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        note = f"{len(shown)} numbers from {low:g} to {high:g}"
        axes.annotate(note, (0, 1), xycoords="axes fraction", va="top", fontsize=11)
        said.append(f"{note} {alt_text.digest(shown)}")
    return style.render(figure, title, said, 48)


def _are_powers(numbers: Sequence[float]) -> bool:
    """True if all are powers of two: on a scale that doubles, each can be a tick."""
    return all(math.frexp(number)[0] == 0.5 for number in numbers)


def _ticks(axis: Any, label: str) -> "Callable[[float, float], str]":
    """Writes numbers at an axis; powers of two as such where decimals would need many digits."""
    doubles = getattr(axis.get_transform(), "base", None) == 2
    as_powers = doubles and axis.get_view_interval()[0] < SMALL
    return lambda x, _at: style.power_of_two(x) if as_powers else style.tick(x, label)


def _told(
    shown: Sequence[tuple[str, Series]], some_live: bool, x_varies: bool, steps: bool, seconds: str
) -> Iterator[str]:
    """Describes each line drawn in a line of text; one without a label is named after the one
    before.
    """
    named = ""
    for label, one in shown:
        live = one.kind == "live" or (some_live and one.kind == "predicted")
        named, name = label or named, label or f"{named}, {one.kind}"
        line = alt_text.curve(name, one.values, live, steps, seconds)
        yield f"  {name}: {alt_text.local(line.partition(': ')[2])}" if live and x_varies else line


def _largest(one: Series, line: tuple[float, str] | None) -> float:
    ends = [high for _, high in one.quartiles.values()]
    return max([*one.values.values(), *ends, line[0] if line else 0])


def _share_scales(panels: "list[style.Axes]") -> None:
    """Gives panels whose axes have the same unit the same ends: bars compare by their lengths."""
    for unit in {axes.get_xlabel() for axes in panels}:
        alike = [axes for axes in panels if axes.get_xlabel() == unit]
        lows, highs = zip(*(axes.get_xlim() for axes in alike), strict=True)
        for axes in alike:
            axes.set_xlim(min(lows), max(highs))


def _chars_over_bars(labels: Sequence[str]) -> int:
    """Characters of a panel's title that fit to the right of its rows' labels."""
    longest = max(len(line) for label in labels for line in label.split("\n"))
    return max(40, min(88, int((790 - 8.8 * longest) / 7.6)))  # pixels of each


def _bars(
    axes: "style.Axes", one: Series, unit: str, line: tuple[float, str] | None, chars: int
) -> list[str]:
    """Draws a panel and returns its description, as lines of text."""
    values, colour = list(one.values.values()), style.COLOURS.get(one.kind, style.EXACT)
    largest = _largest(one, line)
    scale, unit_name = style.axis_unit(largest, unit)
    scaled = [v / scale for v in values]
    axes.barh(range(len(values)), scaled, color=colour, height=0.7)
    ends = list(scaled)  # where the text begins
    for place, label in enumerate(one.values):
        if label in one.quartiles:
            low, high = (q / scale for q in one.quartiles[label])
            style.draw_spread(axes, place, low, high)
            ends[place] = max(ends[place], high)
    texts = [_amount(value, unit, one.kind) for value in values]
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    over = {"bbox": ground, "zorder": 4} if line else {}  # not struck through by the line
    for place, (text, length) in enumerate(zip(texts, ends, strict=True)):
        style.write_beside(axes, text, max(length, 0), place, **over)
    names = [str(label) for label in one.values]
    style.name_rows(axes, names, above=1 if line else 0.5)
    axes.set(xlim=(min(0, *scaled) * 1.22, largest / scale * 1.22 or 1), xlabel=unit_name)
    origin = fill(one.provenance, chars) + (
        "\nthin lines: half of the runs" if one.quartiles else ""
    )
    axes.set_title(origin, loc="left", color=colour, fontsize=10.5)
    if line:
        axes.axvline(line[0] / scale, color=style.INK, linestyle="--", linewidth=1.5)
        style.write_beside(axes, line[1], line[0] / scale, -0.7, fontsize=10)
    varies = one.kind == "live" and unit == "seconds"  # its unit too
    said = [alt_text.origin(one.provenance), "" if varies else f"x: {unit_name}"]
    rows = [f"  {name}: {text}" for name, text in zip(names, texts, strict=True)]
    across = [f"  line at {_amount(line[0], unit, one.kind)}: {line[1]}"] if line else []
    return [" · ".join(filter(None, said)), *rows, *across]


def _line(
    axes: "style.Axes",
    label: str,
    one: Series,
    place: int,
    alike: int,
    steps: bool,
    look: Mapping[str, Any],
) -> tuple[float, float, str, str]:
    others = style.OTHER_KINDS if one.kind == "exact" else (style.INK,)
    shades = max(3, alike) if alike > 1 else 1
    colour = style.COLOURS.get(one.kind)
    colour = style.shade(colour, place, shades) if colour else others[place % len(others)]
    dashes = {"recorded": "--", "published": ":", "predicted": (0, (1, 1.5))}.get(one.kind, "-")
    x, y = list(one.values), list(one.values.values())
    mark = style.MARKS.get(one.kind, "") if len(x) <= 20 else ""
    how = {"color": colour, "linestyle": dashes, "marker": mark, **look}
    axes.plot(x, y, drawstyle="steps-post" if steps else "default", **how)
    return x[-1], y[-1], label, how["color"]


def _mark(axes: "style.Axes", x: float, words: str) -> None:
    axes.axvline(x, color="#999999", linewidth=1, linestyle=":")
    axes.annotate(words, (x, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom")


def _make_log(axes: "style.Axes", name: str, base: int) -> None:
    """Makes the axis logarithmic, with labels between the powers of 10 if few of those fit."""
    from matplotlib.ticker import LogLocator

    on_x = name == "x"
    axis, set_scale = (axes.xaxis, axes.set_xscale) if on_x else (axes.yaxis, axes.set_yscale)
    set_scale("log", base=base)
    axis.set_minor_formatter("")
    low, high = axis.get_view_interval()
    if base == 10 and high < 300 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))


def _label_ends(axes: "style.Axes", ends: list[tuple[float, float, str, str]], log: bool) -> None:
    """Writes labels at the right ends of lines, moved so that they don't overlap.

    A line that ends below the axis, as 0 does on a logarithmic one, has its label at the foot.
    """
    low, high = axes.get_ylim()
    place = (lambda y: math.log(max(y, 1e-30))) if log else (lambda y: y)
    span = place(high) - place(low)
    last = -math.inf
    for x, y, label, colour in sorted((end for end in ends if end[2]), key=lambda end: end[1]):
        wanted = max((place(y) - place(low)) / span, 0.0)
        at = max(wanted, last + 0.075)
        last = at
        axes.annotate(
            label, (x, max(y, low)), (1.015, at), textcoords="axes fraction", color=colour,
            va="center", annotation_clip=False,
        )  # fmt: skip


def _amount(value: float, unit: str, kind: str) -> str:
    text = format_seconds(value) if unit == "seconds" else format_ratio(value)
    return text if kind == "live" else text.removeprefix("≈ ")
