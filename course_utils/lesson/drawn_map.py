"""The map of the course: its parts and chapters, and what each chapter builds on."""

import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

from course_utils.core import files
from course_utils.core.running import is_attended
from course_utils.figures.style import INK, Picture, one_panel, render, round_box, styled
from course_utils.judging.judge import Content, whole
from course_utils.lesson import catalog, progress

if TYPE_CHECKING:
    from IPython.display import Markdown

PART_COLOURS = ("#56B4E9", "#E69F00", "#CC79A7", "#009E73", "#D55E00")
WIDE, HIGH = 0.78, 0.72
DARKENED = "jp-needs-light-background"  # by `start` on a dark theme, as other figures are
MAP = "<div style='position:relative;display:inline-block'>{}{}</div>"
LINK = (
    "<a href='{}' title='{}' style='position:absolute;left:{:.2%};top:{:.2%};width:{:.2%};"
    "height:{:.2%}'></a>"
)


@styled
def course_map() -> Picture:
    """Draws a box for each chapter, a column for each part, and arrows from what a chapter builds
    on.

    ✓ means that every cell before the exercises was run here. The box says how many of the
    reader's predictions came near.
    """
    title = "Take the chapters in any order that follows the arrows"
    places = _places()
    top = max(y for _x, y in places.values())
    figure, axes = one_panel(title, 1.4 + 0.85 * (top + 1))
    said = [title, " · ".join(dict.fromkeys(chapter.part for chapter in catalog.chapters()))]
    axes.axis("off")
    kept = progress.read() if progress.is_kept() else progress.Kept()
    parts = list(dict.fromkeys(chapter.part for chapter in places))
    axes.set(xlim=(-0.45, len(parts) - 0.4), ylim=(-0.5, top + 0.9))
    for column, part in enumerate(parts):
        axes.text(column, top + 0.6, part, ha="center", fontweight="bold", fontsize=14)
    for chapter, (x, y) in places.items():
        _box(axes, chapter, x, y, PART_COLOURS[parts.index(chapter.part)], kept)
        for needed in chapter.after:
            start = next(place for other, place in places.items() if other.number == needed)
            _arrow(axes, start, (x, y))
    alt = "the map of the course: " + "; ".join(map(_in_words, places))
    drawn = render(figure, alt, said)  # which lays the figure out
    share = axes.transData + figure.transFigure.inverted()
    links = ""
    for chapter, (x, y) in places.items():
        (left, low), (right, high) = share.transform(
            [(x - WIDE / 2, y - HIGH / 2), (x + WIDE / 2, y + HIGH / 2)]
        )
        links += LINK.format(
            chapter.path.name, chapter.title, left, 1 - high, right - left, high - low
        )
    return LinkedMap(drawn.png, drawn.alt, drawn.drawn, links)


class LinkedMap(Picture):
    """The map; where somebody watches, a click on a box opens its chapter."""

    def __init__(self, png: bytes, alt: str, drawn: str, links: str) -> None:
        super().__init__(png, alt, drawn)
        self.links = links

    def bundle(self, first: str) -> dict[str, str]:
        kept = super().bundle(first)
        if not is_attended():
            return kept
        image = f"<img src='data:image/png;base64,{kept['image/png']}' class='{DARKENED}'>"
        return kept | {"text/html": MAP.format(image, self.links)}


def chapter_list() -> "Markdown":
    """A Markdown table of the chapters, with links, minutes and exercises."""
    from IPython.display import Markdown

    lines = ["| chapter | minutes | after | exercises |", "|---|---|---|---|"]
    for chapter in catalog.chapters():
        after = ", ".join(chapter.after) or "–"
        link = f"[{chapter.number} · {chapter.title}]({chapter.path.name})"
        lines.append(f"| {link} | {chapter.minutes} | {after} | {len(chapter.exercises())} |")
    return Markdown("\n".join(lines))


FIRST = (
    "Nothing was recorded yet: the pages show other people's published figures instead. "
    "Be the first: on a machine with a GPU, `make record` runs the chapters and keeps what they "
    'measure, and `make record ARGS="--plan"` says beforehand how long that takes. '
    "The files stay on your machine until you offer them; it says how at its end."
)


def recorded_on() -> "Markdown":
    """A Markdown table of the recorded machines, with date, torch version and chapters.

    A chapter counts if its experiments have rows. Without any recording: how to make the first.
    """
    from IPython.display import Markdown

    found: dict[tuple[str, str], list[Content]] = {}
    for path, content in whole(files.RECORDED):
        if content["rows"]:
            machine = path.parents[1].name, content["machine"]["name"]
            found.setdefault(machine, []).append(content)
    lines = ["| machine | recorded | torch | chapters (experiments) |", "|---|---|---|---|"]
    lines += [_machine_line(contents) for contents in found.values()]
    return Markdown("\n".join(lines) if found else FIRST)


def _machine_line(contents: list[Content]) -> str:
    newest = max(contents, key=lambda content: content["date"])
    torch = sorted({content["versions"]["torch"] for content in contents})
    counts = Counter(content["chapter"] for content in contents)
    chapters = (f"[{name[:2]}]({name}.ipynb) ({count})" for name, count in sorted(counts.items()))
    cells = (newest["machine"]["name"], newest["date"][:10], ", ".join(torch), ", ".join(chapters))
    return f"| {' | '.join(cells)} |"


def _places() -> dict[catalog.Chapter, tuple[float, float]]:
    """The middle of each chapter's box: a column for each part, the first chapter on top."""
    parts = Counter(chapter.part for chapter in catalog.chapters())
    seen: Counter[str] = Counter()
    places = {}
    for chapter in catalog.chapters():
        row = max(parts.values()) - 1.0 - seen[chapter.part]
        places[chapter] = (float(list(parts).index(chapter.part)), row)
        seen[chapter.part] += 1
    return places


def _box(
    axes: Any, chapter: catalog.Chapter, x: float, y: float, colour: str, kept: progress.Kept
) -> None:
    look = {"facecolor": colour, "alpha": 0.55, "edgecolor": colour, "linewidth": 1.8, "zorder": 2}
    round_box(axes, (x - WIDE / 2, y - HIGH / 2), WIDE, HIGH, 0.08, **look)
    done = " ✓" if progress.is_run(kept, chapter) else ""
    title = textwrap.fill(chapter.title, 14)
    made, near = progress.count_near(kept, chapter.predictions())
    first = f"{chapter.number}{done}" + (f" · {near} of {made} near" if made else "")
    axes.text(x, y, f"{first}\n{title}", ha="center", va="center", color=INK, fontsize=11, zorder=3)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draws an arrow: down a column, around boxes in between, or across."""
    (x0, y0), (x1, y1) = start, end
    if x0 != x1:
        tail, head, bend = (x0 + WIDE / 2, y0), (x1 - WIDE / 2, y1), 0.0
    elif y0 - y1 == 1:
        tail, head, bend = (x0, y0 - HIGH / 2), (x1, y1 + HIGH / 2), 0.0
    else:
        tail, head, bend = (x0 + WIDE / 2, y0), (x1 + WIDE / 2, y1), -0.45 / (y0 - y1)
    style = {"arrowstyle": "-|>", "color": "#555555", "linewidth": 1.4}
    style["connectionstyle"] = f"arc3,rad={bend}"
    axes.annotate("", xy=head, xytext=tail, arrowprops=style, zorder=1)


def _in_words(chapter: catalog.Chapter) -> str:
    after = f" (after {' and '.join(chapter.after)})" if chapter.after else ""
    return f"{chapter.number} {chapter.title}{after}"
