"""A picture of trades: what each keeps against what it computes again."""

from collections.abc import Mapping

from course_utils.figures import alt_text, style

Point = tuple[float, float]  # bytes kept, FLOPs computed again
MIB = 2**20


def pareto(points: Mapping[str, Point]) -> dict[str, Point]:
    """Returns the Pareto front by bytes: no other choice keeps as little and computes less."""
    best: dict[str, Point] = {}
    least = float("inf")
    for name, point in sorted(points.items(), key=lambda item: item[1]):
        if point[1] < least:
            best[name], least = point, point[1]
    return best


@style.styled
def draw_trade(title: str, points: Mapping[str, Point], unit: float) -> style.Picture:
    """Draws choices as dots, and their front as a line with names.

    The axes are MiB kept and FLOPs computed again as a share of `unit` FLOPs, in percent.
    """
    figure, axes = style.one_panel(title, 4.8)
    front = pareto(points)

    def shown(chosen: Mapping[str, Point]) -> tuple[list[float], list[float]]:
        return (
            [kept / MIB for kept, _ in chosen.values()],
            [100 * again / unit for _, again in chosen.values()],
        )

    axes.plot(*shown(points), "o", color="#999999", markersize=5, label="each choice")
    axes.plot(*shown(front), "-o", color="#0072B2", markersize=7, label="the front")
    for name, (kept, again) in front.items():
        place = kept / MIB, 100 * again / unit
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        left = kept > 0.15 * max(n_bytes for n_bytes, _ in points.values())
        axes.annotate(
            name, place, (-7, -10) if left else (7, 3), textcoords="offset points", fontsize=10.5,
            ha="right" if left else "left", bbox=box, zorder=1.5,
        )  # fmt: skip
    x_label, y_label = "MiB kept for the backward", "computed again, % of a forward"
    axes.set(xlabel=x_label, ylabel=y_label)
    said = [alt_text.axes(x_label, y_label)]
    for label, chosen in {"each choice": points, "the front": front}.items():
        xs, ys = shown(chosen)
        each = [f"{n}: {x:.2g} → {y:.0f}%" for n, x, y in zip(chosen, xs, ys, strict=True)]
        if chosen is points:
            each = [f"{len(xs)} points"]
        said.append(f"  {label}: {'; '.join(each)} {alt_text.digest(xs, ys)}")
    axes.set_xlim(0, 1.25 * max(shown(points)[0]))
    axes.set_ylim(bottom=-7)
    axes.grid(True)
    axes.legend(frameon=False)
    return style.render(figure, title, said, 48)
