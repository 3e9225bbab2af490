"""The words in a picture: whose they are, by the point that they are anchored to, and the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course_utils.figures.drawn.rounded import digest, joined, settled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

KINDS = ("live", "recorded", "published", "predicted", "exact")
LONGEST = 300  # characters of words that belong to nothing else
Point = tuple[float, float]


@dataclass(frozen=True)
class Word:
    """A text, the point in the data that it is anchored to (if any), and where it is read."""

    text: str
    anchor: Point | None
    at: Point  # as shares of the axes

    @property
    def reading_order(self) -> tuple[float, float, str]:
        return -round(self.at[1], 2), round(self.at[0], 2), self.text


class Words:
    """The texts of one panel; whoever they belong to takes them, `rest` tells the others."""

    def __init__(self, axes: "Axes", texts: "Sequence[Text]") -> None:
        self.words = [_word(axes, text) for text in texts if text.get_text().strip()]
        self.arrows = [
            _ends(text)
            for text in texts
            if getattr(text, "arrow_patch", None) and not text.get_text()
        ]
        self.legend = _legend(axes)

    def take(self, x: float, y: float, wanted: Callable[[str], bool] = lambda _text: True) -> str:
        """Takes the text that is anchored to this point of the data, if it is as wanted; or ""."""
        for word in self.words:
            text = " ".join(word.text.split())
            if word.anchor and all(map(_is_near, word.anchor, (x, y))) and wanted(text):
                self.words.remove(word)
                return text
        return ""

    def name_of(self, label: Any, colour: Any = None) -> str:
        """What the legend or its own label calls an artist; empty for none."""
        own = "" if str(label).startswith("_") else str(label)
        return own or self.legend.get(_hex(colour), "")

    def rest(self, live: bool, told: str) -> list[str]:
        """What nobody took, in reading order, and the legend's entries that `told` doesn't have."""
        lines = []
        if self.words:
            read = sorted(self.words, key=lambda word: word.reading_order)
            texts = [word.text for word in read]
            places = [] if live else [word.anchor or word.at for word in read]
            told_first = sorted(texts, key=settled) if live else texts
            lines.append(f"text: {_shortened(told_first, places)}")
        if self.arrows:
            lines.append(f"arrows, {len(self.arrows)}{'' if live else ' ' + digest(self.arrows)}")
        missing = [name for name in self.legend.values() if name not in told]
        return [*lines, *([f"legend: {joined(sorted(missing))}"] if missing else [])]


def origins(text: str) -> list[str]:
    """Where numbers are from, an origin each; a live one without its machine and date."""
    found: list[str] = []
    for line in text.splitlines():
        kind = line.partition(":")[0]
        if kind in KINDS or not found:
            found.append("live" if kind == "live" else line)
        elif found[-1] != "live":
            found[-1] += f" {line}"
    return found


def _word(axes: "Axes", text: "Text") -> Word:
    from matplotlib.text import Annotation

    inverse = axes.transAxes.inverted()
    if not isinstance(text, Annotation):
        in_data = text.get_transform() is axes.transData
        x, y = inverse.transform(text.get_transform().transform(text.get_position()))
        return Word(text.get_text(), text.get_position() if in_data else None, (x, y))
    if text.xycoords != "data":
        return Word(text.get_text(), None, text.xy)
    x, y = inverse.transform(axes.transData.transform(text.xy))
    return Word(text.get_text(), text.xy, (x, y))


def _ends(text: Any) -> list[float]:
    return [*getattr(text, "xy", (0, 0)), *text.get_position()]


def _legend(axes: "Axes") -> dict[str, str]:
    """Names by colour, from the panel's legend and the figure's."""
    figure = axes.get_figure()
    shown = [axes.get_legend(), *(figure.legends if figure else [])]
    named = {}
    for legend in filter(None, shown):
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            colour = getattr(handle, "get_facecolor", getattr(handle, "get_color", None))
            named[_hex(colour() if colour else None)] = text.get_text()
    return named


def _hex(colour: Any) -> str:
    from matplotlib.colors import to_hex

    try:
        return to_hex(colour)
    except ValueError:
        return str(colour)


def _shortened(texts: list[str], places: list[Point]) -> str:
    """The first of the texts, and of all, and where they stand, a digest."""
    room, kept = LONGEST, 0
    while kept < len(texts) and (room := room - len(settled(texts[kept])) - 3) > 0:
        kept += 1
    more = f" … {len(texts) - kept} more" if kept < len(texts) else ""
    mark = digest([settled(text) for text in texts], places) if places or more else ""
    return f"{joined(texts[:kept])}{more} {mark}".rstrip()


def _is_near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-12)
