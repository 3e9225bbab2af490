"""The colours of kinds of work, and a figure: what a time consists of, a bar for each run."""

from collections.abc import Mapping

from course_utils.figures import alt_text, style
from snapshots_and_traces.trace_viewer.kinds import PARTS

COLOURS = {  # of the page's timelines: the viewer's, and a colour for each part of a host's step
    **{what: PARTS[what] for what in ("computing", "communication", "data")},
    "forward": "#BFDFF3",
    "backward": "#78B5DC",
    "optimizer": "#D3CDBE",
}
WORDS = {  # the causes as the page names them
    "communication": "communication, exposed",
    "copying": "only copies",
    "data": "idle: data",
    "synchronising": "idle: synchronising",
    "host": "idle: host",
    "ranks": "idle: other ranks",
    "other": "idle: other",
}
OF_HOST = ("allocating", "loading", "launching", "python")  # of the library's breakdown
HOST = PARTS["launching"]  # the viewer divides the host's part
SMALL = 0.01  # of the whole: a part below it in every run isn't drawn
LEAST_LABEL = 0.05
X_LABEL = "% of the time from the first kernel to the last"


@style.styled
def draw_shares(title: str, runs: Mapping[str, Mapping[str, float]]) -> style.Picture:
    """Draws a bar from 0 to 100% for each run, of its parts in seconds, in the viewer's colours.

    Parts under 1% in every run are left white. Nothing live: published or computed values.
    """
    shares = {run: _shares(parts) for run, parts in runs.items()}
    names = list(dict.fromkeys(name for parts in shares.values() for name in parts))
    large = [name for name in names if max(s.get(name, 0) for s in shares.values()) >= SMALL]
    figure, axes = style.one_panel(title, 1.7 + 0.6 * len(runs))
    said = [f"x: {X_LABEL}"]
    for row, (run, parts) in enumerate(shares.items()):
        left = 0.0
        for name in large:
            share = 100 * parts.get(name, 0.0)
            colour = PARTS.get(name, HOST)
            axes.barh(row, share, left=left, color=colour, height=0.72, edgecolor="white")
            if share >= 100 * LEAST_LABEL:
                axes.annotate(f"{share:.0f}%", (left + share / 2, row), ha="center", va="center")
            left += share
        if left < 100 * (1 - SMALL / 10):
            axes.barh(row, 100 - left, left=left, color="#FFFFFF", height=0.72, edgecolor="#BBBBBB")
        named = {WORDS.get(name, name): 100 * parts.get(name, 0.0) for name in large}
        said.append(alt_text.stack(run, named))
    style.name_rows(axes, list(shares))
    axes.set(xlim=(0, 100), xlabel=X_LABEL)
    style.key_below(figure, {WORDS.get(n, n): PARTS.get(n, HOST) for n in large}, 3)
    return style.render(figure, title, said)


def _shares(parts: Mapping[str, float]) -> dict[str, float]:
    whole, found = sum(parts.values()), dict[str, float]()
    for name, seconds in parts.items():
        name = "host" if name in OF_HOST else name
        found[name] = found.get(name, 0.0) + seconds / whole
    return found
