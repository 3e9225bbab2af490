"""A widget: a matrix on a grid of integers, by who shares a scale and where the grid ends."""

from functools import cache
from typing import Any, NamedTuple

import ipywidgets as widgets
import numpy as np

from course_utils.figures import alt_text, style
from course_utils.figures.controls import NARROW, Controls, TwoColumns, choice

ROWS, COLUMNS, SCALE_BITS = 64, 256, 16
SHARED = {"tensor": ROWS * COLUMNS, "channel": COLUMNS, "group of 128": 128, "group of 32": 32}
DATA, OUTLIERS, SIZES = ("normal", "Laplace"), ("row", "column"), (1, 3, 10, 30, 100)
COLOURS = {"kept": style.FORMAT_COLOURS["INT8"], "rounded to 0": "#A6A6A6", "clipped": "#CC3311"}


class Grid(NamedTuple):
    """A matrix in groups that share a scale, one a row, and its codes; `rest`: not the outliers."""

    values: Any
    scale: Any
    codes: Any
    half: int  # the grid's points are the scale times -half to half - 1
    rest: Any

    @property
    def sqnr(self) -> float:
        """Decibels of the numbers outside the outlier channel over their error."""
        error = (self.values - self.codes * self.scale)[self.rest]
        return float(10 * np.log10((self.values[self.rest] ** 2).sum() / (error**2).sum()))

    @property
    def masks(self) -> dict[str, Any]:
        """Which numbers are beyond the grid's end, which become zero, and which neither."""
        clipped = np.abs(self.values) > (self.half - 0.5) * self.scale * (1 + 1e-9)
        zero = (self.codes == 0) & (self.values != 0)
        return {"kept": ~clipped & ~zero, "rounded to 0": zero, "clipped": clipped}


def grid_explorer(bits: int) -> Controls:
    """Six controls over 64 x 256 numbers rounded to integers, symmetric, drawn once (seed 0).

    A row is an output channel. `end` is where the grid ends, in percent of the largest magnitude
    that shares the scale. The last row or column is `size` times larger. Scales aren't rounded.
    """
    within = {"continuous_update": False, **NARROW}
    return TwoColumns(
        draw_grid,
        "The controls move a grid of integers under 64 x 256 numbers",
        bits=widgets.IntSlider(bits, 2, 8, description="bits", **within),
        shared=choice("one scale per", tuple(SHARED), "channel"),
        end=widgets.IntSlider(100, 30, 100, description="grid's end, %", **within),
        data=choice("numbers", DATA, "normal"),
        outlier=choice("outliers in a", OUTLIERS, "row"),
        size=choice("times larger", SIZES, 1),
    )


@cache
def _drawn(data: str) -> Any:
    """Numbers of standard deviation 1."""
    rng, shape = np.random.default_rng(0), (ROWS, COLUMNS)
    return rng.normal(size=shape) if data == "normal" else rng.laplace(0, 0.5**0.5, shape)


def on_grid(bits: int, shared: str, end: int, data: str, outlier: str, size: int) -> Grid:
    """The numbers, rounded by chapter 8's `quantize`: the end is half a step past the last code."""
    values, rest = _drawn(data).copy(), np.ones((ROWS, COLUMNS), bool)
    channel = (-1, slice(None)) if outlier == "row" else (slice(None), -1)
    values[channel] *= size
    rest[channel] = False
    values, rest = (of.reshape(-1, SHARED[shared]) for of in (values, rest))
    half = 2 ** (bits - 1)
    scale = end / 100 * np.abs(values).max(1, keepdims=True) / (half - 0.5)
    return Grid(values, scale, np.clip(np.round(values / scale), -half, half - 1), half, rest)


def draw_grid(
    bits: int, shared: str, end: int, data: str, outlier: str, size: int
) -> tuple[style.Picture, str]:
    """The numbers of the first scale with its grid, and as HTML what the matrix costs and loses."""
    grid = on_grid(bits, shared, end, data, outlier, size)
    stored = ROWS * COLUMNS * bits + grid.scale.size * SCALE_BITS
    each, share = stored / (ROWS * COLUMNS), {k: m.mean() for k, m in grid.masks.items()}
    large = f", a {outlier} × {size}" if size > 1 else ""
    named = f"channel of {COLUMNS}" if shared == "channel" else shared
    title = f"{bits} bits, one scale per {named}{large}: {grid.sqnr:.1f} dB in {each:.2f} bits"
    more = grid.sqnr - on_grid(bits, shared, 100, data, outlier, size).sqnr
    against = f" ({more:+.1f} dB against a grid that ends at the maximum)" if end < 100 else ""
    return _draw(f"{title} per weight", grid), (
        f"SQNR outside the last {outlier} <b>{grid.sqnr:.1f} dB</b>{against} · "
        f"<b>{each:.3f}</b> bits per weight with BF16 scales, {stored // 8:,} bytes "
        f"(BF16: {2 * ROWS * COLUMNS:,}) · of all numbers <b>{share['clipped']:.2%}</b> clipped, "
        f"<b>{share['rounded to 0']:.1%}</b> rounded to zero"
    )


@style.styled
def _draw(title: str, grid: Grid) -> style.Picture:
    """A histogram of the numbers with the first scale, in three colours; lines for its grid."""
    figure, axes = style.one_panel(title, 3.5)
    step, values = grid.scale[0, 0], grid.values[0]
    limit, end, said = np.abs(values).max(), (grid.half - 0.5) * step, []
    edge = 1.04 * max(limit, grid.half * step)
    parts = max(2, 2 * round(15 * end / limit / grid.half))  # bins in a step: edges where kinds end
    width = step / parts if grid.half < 64 else limit / 30
    bins = width * np.arange(-np.ceil(limit / width), np.ceil(limit / width) + 1)
    for kind, mask in grid.masks.items():
        counted = f"{kind}: {mask[0].sum():,}"
        axes.hist(values[mask[0]], bins, color=COLOURS[kind], label=counted)
        said.append(f"  {counted}")
    axes.set(yscale="log", xlim=(-edge, edge), ylabel="numbers in a bin")
    top = 1.3 * axes.get_ylim()[1]
    ticks = [tick for tick in (1, 3, 10, 100, 1000, 10_000) if tick < top]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0.4, top)
    high = 1.0 if grid.half <= 16 else 0.07  # of more than 31 points only a comb
    for point in step * np.arange(-grid.half, grid.half):
        axes.axvline(point, 0, high, color=style.INK, linewidth=0.8, alpha=0.7)
    axes.set_xlabel(f"the {len(values):,} numbers that share the first scale; lines: the grid")
    figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=10.5)
    lowest, highest = (alt_text.number(step * code) for code in (-grid.half, grid.half - 1))
    points = f"  grid: {2 * grid.half} points from {lowest} to {highest}"
    return style.render(figure, title, [alt_text.axes("value", "count", "y"), points, *said])
