"""A widget: batch and width of the GPT, and what a training step then holds under each recipe."""

from typing import Any

import ipywidgets as widgets

from course_utils.figures.byte_bars import MIB, stacked_bytes
from course_utils.figures.still import Still
from course_utils.workloads.gpt import GPTConfig
from course_utils.workloads.gpt_bytes import step_bytes
from course_utils.workloads.recipes import RECIPES

SHOWN = ("FP32", "AMP BF16", "pure BF16", "pure BF16 + Kahan")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
WIDTHS = (64, 128, 256, 512, 1024, 2048)


def step_bytes_explorer(batch: int = 1, width: int = 256, layers: int = 4) -> Still:
    """Two sliders over a stacked bar for each recipe; lines of 64 tokens, 13 token numbers."""

    def slider(values: tuple[int, ...], value: int, text: str) -> widgets.SelectionSlider:
        return widgets.SelectionSlider(
            options=values, value=value, description=text, continuous_update=False,
            style={"description_width": "150px"}, layout=widgets.Layout(width="420px"),
        )  # fmt: skip

    controls = [slider(BATCHES, batch, "batch (lines)"), slider(WIDTHS, width, "width")]
    picture = widgets.Image(format="png", layout=widgets.Layout(max_width="800px"))
    reading = widgets.HTML()

    def update(_change: Any = None) -> None:
        lines, channels = (control.value for control in controls)
        config = GPTConfig(vocabulary=13, context=64, layers=layers, heads=4, width=channels)
        cases = {name: step_bytes(RECIPES[name], config, lines) for name in SHOWN}
        fp32, amp = (sum(cases[name].values()) for name in ("FP32", "AMP BF16"))
        picture.value = stacked_bytes(title(fp32, amp), cases, "exact: formula").png
        reading.value = explain(fp32, amp, lines * config.context, channels)

    for control in controls:
        control.observe(update, "value")
    update()
    alt = "Batch and width move; the bars show what each recipe holds, and where AMP begins to save"
    return Still([*controls, picture, reading], picture, alt)


def title(fp32: int, amp: int) -> str:
    """What AMP does to the bytes of this step."""
    change = amp / fp32 - 1
    if change > 0:
        return f"Here AMP holds {change:.0%} more than FP32"
    return f"Here AMP holds {-change:.0%} less than FP32"


def explain(fp32: int, amp: int, tokens: int, width: int) -> str:
    """Where the two cross, in tokens of a batch, as HTML: copies of 24·w² against 28·w a token."""
    crossing = 24 * width / 28
    side = "more" if tokens < crossing else "less"
    return (
        f"FP32 <b>{fp32 / MIB:.1f} MiB</b>, AMP <b>{amp / MIB:.1f} MiB</b> · "
        f"{tokens} tokens a batch: AMP holds {side}; they cross near 24/28 · width = "
        f"<b>{crossing:.0f} tokens</b>"
    )
