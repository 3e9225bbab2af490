"""What a time consists of: a bar for each run, its parts as shares of the whole."""

from collections.abc import Mapping

from course_utils.figures import alt_text, style

COLOURS = {  # computing first, then what else the device did, then why it waited
    "computing": "#009E73",
    "communication": "#CC79A7",
    "copying": "#E69F00",
    "data": "#D55E00",
    "synchronising": "#7B5EA7",
    "launching": "#D9D9D9",
    "other": "#F0F0F0",
}
OTHERS = ("#56B4E9", "#E69F00", "#CC79A7", "#009E73", "#7B5EA7", "#8C6D31", "#0072B2", "#999999")
WORDS = {
    "communication": "messages, exposed",
    "copying": "copies",
    "data": "idle: input",
    "synchronising": "idle: host waited",
    "launching": "idle: launches",
    "other": "idle: another reason",
}
SMALL = 0.01  # of the whole: parts below it in every run stand together
LEAST_LABEL = 0.05


@style.styled
def draw_shares(title: str, runs: Mapping[str, Mapping[str, float]]) -> style.Picture:
    """A bar from 0 to 100% for each run, of its parts in seconds, in one order and colour for all.

    Parts under 1% everywhere are drawn as one, "the rest". Published or computed: nothing live.
    Raises: ValueError without a run, or for a run without time.
    """
    from matplotlib.patches import Patch

    if not runs or any(sum(parts.values()) <= 0 for parts in runs.values()):
        raise ValueError(f"{title!r}: no run to draw, or one without time")
    shares = {run: _shares(parts) for run, parts in runs.items()}
    names = list(dict.fromkeys(name for parts in shares.values() for name in parts))
    large = [name for name in names if max(s.get(name, 0) for s in shares.values()) >= SMALL]
    colours = {name: _colour(name, place) for place, name in enumerate(large)}
    figure, axes = style.one_panel(title, 1.7 + 0.6 * len(runs))
    said = ["x: % of the time"]
    for row, (run, parts) in enumerate(shares.items()):
        left = 0.0
        for name, colour in colours.items():
            share = 100 * parts.get(name, 0.0)
            axes.barh(row, share, left=left, color=colour, height=0.72, edgecolor="white")
            if share >= 100 * LEAST_LABEL:
                axes.annotate(f"{share:.0f}%", (left + share / 2, row), ha="center", va="center")
            left += share
        if left < 100 * (1 - SMALL / 10):
            axes.barh(row, 100 - left, left=left, color="#FFFFFF", height=0.72, edgecolor="#BBBBBB")
        named = {WORDS.get(name, name): 100 * parts.get(name, 0.0) for name in colours}
        said.append(alt_text.stack(run, named))
    style.name_rows(axes, list(shares))
    axes.set(xlim=(0, 100), xlabel="% of the time")
    patches = [Patch(color=c, label=WORDS.get(name, name)) for name, c in colours.items()]
    figure.legend(handles=patches, loc="outside lower left", ncols=4, frameon=False, fontsize=10.5)
    return style.render(figure, title, said)


def _shares(parts: Mapping[str, float]) -> dict[str, float]:
    whole = sum(parts.values())
    return {name: seconds / whole for name, seconds in parts.items()}


def _colour(name: str, place: int) -> str:
    return COLOURS.get(name) or OTHERS[place % len(OTHERS)]
