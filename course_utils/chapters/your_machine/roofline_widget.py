"""A widget: a GPU, a linear layer and a dtype; its point moves under the GPU's roof."""

from typing import Any

import ipywidgets as widgets

from course_utils.chapters.your_machine.operations import Work
from course_utils.chapters.your_machine.roofline import SIZES, Roof, gpu_roof, layer, turning_batch
from course_utils.chapters.your_machine.roofline_figure import draw_roof
from course_utils.core.gpus import GPUS, Specs, gpu_specs
from course_utils.figures import told
from course_utils.figures.controls import LOOK, Controls, slider
from course_utils.figures.style import COLOURS, INK, Picture, one_panel, render, say_origins, styled

BATCHES = tuple(2**k for k in range(15))
WIDTHS = tuple(2**k for k in range(6, 15))


def roofline_point() -> Controls:
    """Menus of GPUs and dtypes, sliders for batch and widths, over the roofline by data sheet."""
    titles = [(specs.title, specs) for specs in GPUS]
    gpus = widgets.Dropdown(options=titles, value=gpu_specs("H200"), description="GPU", **LOOK)
    kinds = widgets.Dropdown(options=dtypes(gpus.value), value="BF16", description="dtype", **LOOK)

    def offer_dtypes(change: Any) -> None:
        offered, wanted = dtypes(change["new"]), kinds.value
        if tuple(offered) != kinds.options:
            kinds.options = offered
            kinds.value = wanted if wanted in offered else offered[0]

    gpus.observe(offer_dtypes, "value")
    return Controls(
        draw_layer,
        "Choose a GPU and a layer's shape: its point climbs the roof with the batch",
        specs=gpus,
        dtype=kinds,
        batch=slider("batch", BATCHES, 64),
        n_in=slider("numbers in", WIDTHS, 4096),
        n_out=slider("numbers out", WIDTHS, 4096),
    )


def dtypes(specs: Specs) -> list[str]:
    """The dtypes that a GPU has units for."""
    return [name for name in SIZES if getattr(specs, name.lower()) is not None]


def draw_layer(specs: Specs, dtype: str, batch: int, n_in: int, n_out: int) -> tuple[Picture, str]:
    """The layer's point, and as HTML what it waits for and the batch at which that turns."""
    roof, size = gpu_roof(specs, dtype), SIZES[dtype]
    work = layer(batch, n_in, n_out, size)
    share = roof.attainable(work.intensity) / roof.flop_per_s
    waits = "compute" if work.intensity >= roof.ridge else "memory"
    turning = turning_batch(n_in, n_out, size, roof.flop_per_s, roof.bytes_per_s)
    when = f"from batch <b>{turning:,}</b> on" if turning else "at <b>no</b> batch"
    return draw_point(specs, roof, work, dtype), (
        f"<b>{work.intensity:,.1f} FLOP/byte</b>, ridge {roof.ridge:,.0f}: waits for "
        f"<b>{waits}</b>, at most {share:.0%} of the peak; compute-bound {when}"
    )


@styled
def draw_point(specs: Specs, roof: Roof, work: Work, dtype: str) -> Picture:
    """The roof, and the point that a layer reaches at most."""
    title = f"{specs.title}, {dtype}: {work.intensity:,.1f} FLOP/byte"
    figure, axes = one_panel(title, 4)
    said = [told.axes("FLOP/byte", "FLOP/s", "xy")]
    said.append(draw_roof(axes, roof, COLOURS["published"], live=False))
    x, y = work.intensity, roof.attainable(work.intensity)
    axes.plot([x, x], [axes.get_ylim()[0], y], color=INK, linewidth=1, linestyle="--")
    axes.plot([x], [y], color="#009E73", marker="o", markersize=12)
    note = f"at most {y / 1e12:.3g} TFLOP/s"
    side = (14, -4) if x < 100 else (-14, -22)
    axes.annotate(note, (x, y), side, textcoords="offset points", va="center", fontsize=12,
                  ha="left" if x < 100 else "right")  # fmt: skip
    said += [f"  the layer at {x:.3g} FLOP/byte: {note}"]
    said.append(say_origins(figure, [f"published: {specs.source}"]))
    return render(figure, title, said)
