"""What is only known between two bounds, drawn as bands."""

from collections.abc import Mapping

from course_utils.figures.style import OTHER_KINDS, Picture, new_figure, render, styled

Band = Mapping[float, tuple[float, float]]  # x: (low, high)


@styled
def draw_bands(
    title: str, bands: Mapping[str, Band], x_label: str, y_label: str, note: str = ""
) -> Picture:
    """A band for each label on two logarithmic axes, its name at its right end.

    `note` says under the figure where the bounds come from.
    """
    from matplotlib.ticker import EngFormatter

    figure = new_figure(title, 4.6)
    axes = figure.subplots()
    for place, (label, band) in enumerate(bands.items()):
        colour, x = OTHER_KINDS[place], list(band)
        lows, highs = zip(*band.values(), strict=True)
        axes.fill_between(x, lows, highs, color=colour, alpha=0.45, linewidth=0)
        for edge in (lows, highs):
            axes.plot(x, edge, color=colour, linewidth=1.5)
        middle = (lows[-1] * highs[-1]) ** 0.5
        axes.annotate(label, (x[-1], middle), (6, 0), textcoords="offset points", va="center")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _at: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(EngFormatter(unit="s" if y_label == "seconds" else ""))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(True)
    figure.supxlabel(note, fontsize=9, color="#555555", x=0.01, ha="left")
    return render(figure, title)
