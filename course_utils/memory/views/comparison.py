"""Two snapshots of the same work beside each other: what grew."""

from dataclasses import dataclass

from course_utils.figures.style import KINDS, OTHER_KINDS, Picture, one_panel, render, styled
from course_utils.figures.tables import table
from course_utils.memory.snapshots.lives import History, history
from course_utils.memory.snapshots.snapshot import Snapshot
from course_utils.memory.views.words import shortened, size_text, unit_of


@dataclass(frozen=True)
class Growth:
    """Bytes that one site (or kind) held in two snapshots, at each one's peak and at its end."""

    site: str
    peak_a: int
    peak_b: int
    end_a: int
    end_b: int

    @property
    def at_peak(self) -> int:
        return self.peak_b - self.peak_a


@dataclass(frozen=True)
class Comparison:
    """What differs from `a` to `b`; `rows` with what changed most at the peak first."""

    a: History
    b: History
    rows: tuple[Growth, ...]

    def grown(self) -> list[Growth]:
        """Only what grew at the peak, most first."""
        return [row for row in self.rows if row.at_peak > 0]

    def __str__(self) -> str:
        a, b = (int(h.live[h.peak]) for h in (self.a, self.b))
        ends = int(self.a.live[-1]), int(self.b.live[-1])
        text = (
            f"peak {size_text(a)} → {size_text(b)}, at the end {size_text(ends[0])} → "
            f"{size_text(ends[1])}, reserved at most {size_text(int(self.a.reserved.max()))} → "
            f"{size_text(int(self.b.reserved.max()))}"
        )
        grown = self.grown()
        if grown:
            text += f"; most grew {grown[0].site}, by {size_text(grown[0].at_peak)} at the peak"
        return text

    def _repr_html_(self) -> str:
        a, b = f"from {self.a.name}", f"to {self.b.name}"
        rows = [
            {
                "who asked": row.site,
                f"at the peak, {a}": size_text(row.peak_a),
                f"at the peak, {b}": size_text(row.peak_b),
                f"at the end, {a}": size_text(row.end_a),
                f"at the end, {b}": size_text(row.end_b),
            }
            for row in self.rows[:20]
        ]
        return table(str(self), rows).data


def compare(a: Snapshot | History, b: Snapshot | History) -> Comparison:
    """Bytes by who asked (or by kind) in two snapshots of the same work, from `a` to `b`.

    Sites are the same where function, file name and line are. Raises: ValueError where a snapshot
    has several devices; give a history of one of them.
    """
    first, second = (h if isinstance(h, History) else history(h) for h in (a, b))
    peaks = first.bytes_of_sites(first.peak), second.bytes_of_sites(second.peak)
    ends = (
        first.bytes_of_sites(first.moments - 1), second.bytes_of_sites(second.moments - 1),
    )  # fmt: skip
    sites = dict.fromkeys(site for each in (*peaks, *ends) for site in each)
    rows = [Growth(site, *(each.get(site, 0) for each in (*peaks, *ends))) for site in sites]
    rows.sort(key=lambda row: (-abs(row.at_peak), -abs(row.end_b - row.end_a), row.site))
    return Comparison(first, second, tuple(rows))


@styled
def draw_comparison(comparison: Comparison, title: str) -> Picture:
    """Two bars for each site at the peak, the most changed first, the names as in the snapshots."""
    rows = comparison.rows[:12][::-1]
    figure, axes = one_panel(title, 1.6 + 0.55 * len(rows))
    scale, unit = unit_of(max([max(row.peak_a, row.peak_b) for row in rows], default=1))
    for offset, colour, name, values in (
        (0.19, KINDS["wait"], comparison.a.name, [row.peak_a for row in rows]),
        (-0.19, OTHER_KINDS[0], comparison.b.name, [row.peak_b for row in rows]),
    ):
        places = [place + offset for place in range(len(rows))]
        axes.barh(places, [v / scale for v in values], height=0.36, color=colour, label=name)
    axes.set_yticks(range(len(rows)), [shortened(row.site, 40) for row in rows])
    axes.set_xlabel(f"{unit} at the peak")
    axes.legend(loc="lower right", frameon=False, fontsize=11)
    return render(figure, title, live=False)
