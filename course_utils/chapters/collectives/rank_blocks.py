"""Draws the blocks of every rank before and after a collective."""

from collections.abc import Mapping, Sequence
from typing import Any

from course_utils.figures import style

Held = Sequence[Any]  # by rank: a tensor or a list of them; None where it holds nothing
PALETTE = ("#CFE8FC", "#FCE3B6", "#D5F0DD", "#F3D6E8", "#E3DDF6", "#F7F2B8", "#E0E0E0", "#FAD9D0")
NEW = "#FFFFFF"  # what no rank held before: a sum, in a thick frame


@style.styled
def draw_holdings(
    title: str, moves: Mapping[str, tuple[Held, Held]], letters: bool = False
) -> style.Picture:
    """For each name what the ranks held before and after, a row a rank, a cell a number.

    What a rank held before has the colour of that rank, wherever it is later; what is new (a sum)
    is white in a thick frame, and where nothing is held, nothing is drawn. With `letters`, a number
    above 64 is shown as the letter with that code.
    """
    ranks = max(len(before) for before, _ in moves.values())
    rows = -(-len(moves) // 2)
    figure = style.new_figure(title, 0.6 + rows * (0.55 + 0.34 * ranks))
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for axes in panels:
        axes.set_axis_off()
    said = []
    for axes, (name, held) in zip(panels, moves.items(), strict=False):
        before, after = (_texts(one, letters) for one in held)
        _move(axes, name, before, after)
        said.append(f"{name}, before → after")
        for rank, (had, has) in enumerate(zip(before, after, strict=True)):
            both = (" ".join(one).strip() or "nothing" for one in (had, has))
            said.append(f"  rank {rank}: {' → '.join(both)}")
    return style.render(figure, title, said)


def _move(axes: "style.Axes", name: str, before: list[list[str]], after: list[list[str]]) -> None:
    width = max(map(len, before))
    owners: dict[str, set[int]] = {}
    for rank, row in enumerate(before):
        _row(axes, row, (0, rank), [rank] * len(row))
        for text in row:
            owners.setdefault(text, set()).add(rank)
    for rank, row in enumerate(after):
        from_one = [owners.get(text, set()) for text in row]
        _row(axes, row, (width + 1.2, rank), [min(o) if len(o) == 1 else None for o in from_one])
    axes.annotate(
        "", (width + 1.05, -len(before) / 2), (width + 0.15, -len(before) / 2),
        arrowprops={"arrowstyle": "->", "color": style.INK},
    )  # fmt: skip
    for rank in range(len(before)):
        axes.text(-0.15, -rank - 0.5, str(rank), ha="right", va="center", fontsize=9)
    axes.set_xlim(-0.6, max(8.4, width + 1.4 + max(map(len, after))))
    axes.set_ylim(-len(before) - 0.1, 0.1)
    axes.set_title(name, loc="left", fontsize=11)


def _row(
    axes: "style.Axes", row: list[str], corner: tuple[float, int], owners: Sequence[int | None]
) -> None:
    """Blocks of one rank from (left, rank) on, in the colours of their earlier ranks."""
    from matplotlib.patches import Rectangle

    left, rank = corner
    for place, (text, owner) in enumerate(zip(row, owners, strict=True)):
        if not text:
            continue
        colour = NEW if owner is None else PALETTE[owner % len(PALETTE)]
        edge, width = (style.INK, 1.8) if owner is None else ("#999999", 1)
        where = (left + place + 0.06, -rank - 0.94)
        axes.add_patch(
            Rectangle(where, 0.88, 0.88, facecolor=colour, edgecolor=edge, linewidth=width)
        )
        middle = (left + place + 0.5, -rank - 0.5)
        axes.text(*middle, text, ha="center", va="center", fontsize=9)


def _texts(held: Held, letters: bool) -> list[list[str]]:
    numbers = [_numbers(one) for one in held]
    width = max(map(len, numbers))
    shown = [[chr(int(x)) if letters and 64 < x < 91 else f"{x:g}" for x in row] for row in numbers]
    return [row or [""] * width for row in shown]


def _numbers(held: Any) -> list[float]:
    """The numbers in a tensor, or in a list of tensors, one after the other."""
    if held is None:
        return []
    if isinstance(held, list | tuple):
        return [number for one in held for number in _numbers(one)]
    found = held.tolist() if hasattr(held, "tolist") else held
    return _numbers(found) if isinstance(found, list) else [found]
