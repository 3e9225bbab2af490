"""A widget: batch and width of the GPT, and what a training step then holds under each recipe."""

from course_utils.figures.byte_bars import MIB, stacked_bytes
from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import Picture
from course_utils.workloads.gpt import GPTConfig
from course_utils.workloads.gpt_bytes import step_bytes
from course_utils.workloads.recipes import RECIPES

SHOWN = ("FP32", "AMP BF16", "pure BF16", "pure BF16 + Kahan")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
WIDTHS = (64, 128, 256, 512, 1024, 2048)


def step_bytes_explorer(batch: int = 1, width: int = 256) -> Controls:
    """Two sliders over a bar for each recipe; 4 layers, lines of 64 tokens, 13 token numbers."""
    return Controls(
        draw_bytes,
        "Batch and width move; the bars show what each recipe holds, and where AMP begins to save",
        batch=slider("batch (lines)", BATCHES, batch),
        width=slider("width", WIDTHS, width),
    )


def draw_bytes(batch: int, width: int) -> tuple[Picture, str]:
    """The bars, and as HTML where FP32 and AMP cross: copies of 24·w² against 28·w a token."""
    config = GPTConfig(vocabulary=13, context=64, layers=4, heads=4, width=width)
    cases = {name: step_bytes(RECIPES[name], config, batch) for name in SHOWN}
    fp32, amp = (sum(cases[name].values()) for name in ("FP32", "AMP BF16"))
    tokens, crossing = batch * config.context, 24 * width / 28
    side = "more" if tokens < crossing else "less"
    return stacked_bytes(title(fp32, amp), cases, "exact: formula"), (
        f"FP32 <b>{fp32 / MIB:.1f} MiB</b>, AMP <b>{amp / MIB:.1f} MiB</b> · "
        f"{tokens} tokens a batch: AMP holds {side}; they cross near 24/28 · width = "
        f"<b>{crossing:.0f} tokens</b>"
    )


def title(fp32: int, amp: int) -> str:
    """What AMP does to the bytes of this step."""
    change = amp / fp32 - 1
    return f"Here AMP holds {abs(change):.0%} {'more' if change > 0 else 'less'} than FP32"
