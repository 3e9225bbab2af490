"""A widget: a GPT's batch and sizes, and what a training step then holds under each recipe."""

from bisect import bisect_left
from dataclasses import replace

from course_utils.figures.byte_bars import MIB, stacked_bytes
from course_utils.figures.controls import Controls, slider
from course_utils.figures.style import Picture
from course_utils.workloads.gpt import GPTConfig
from course_utils.workloads.gpt_bytes import step_bytes
from course_utils.workloads.recipes import RECIPES

SHOWN = ("FP32", "AMP BF16", "pure BF16", "pure BF16 + Kahan")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
WIDTHS = (64, 128, 256, 512, 1024, 2048)
LAYERS = (2, 4, 8, 12, 24, 48)
VOCABULARIES = (13, 1024, 50304)
MOST_TOKENS = 2**40


def step_bytes_explorer(batch: int, layers: int) -> Controls:
    """Four sliders over a bar for each recipe; lines of 64 tokens, heads of 64 channels."""
    return Controls(
        draw_bytes,
        "The sliders move a GPT's sizes; the bars show what each recipe holds",
        batch=slider("batch (lines)", BATCHES, batch),
        width=slider("width", WIDTHS, 256),
        layers=slider("layers", LAYERS, layers),
        vocabulary=slider("vocabulary", VOCABULARIES, 13),
    )


def draw_bytes(batch: int, width: int, layers: int, vocabulary: int) -> tuple[Picture, str]:
    """The bars, and as HTML from how many tokens on AMP holds less than FP32."""
    config = GPTConfig(vocabulary, 64, layers, max(1, width // 64), width)
    cases = {name: step_bytes(RECIPES[name], config, batch) for name in SHOWN}
    fp32, amp = (sum(cases[name].values()) for name in ("FP32", "AMP BF16"))
    tokens, crossing = batch * config.context, break_even(config)
    side = "more" if amp > fp32 else "less"
    return stacked_bytes(title(fp32, amp), cases, "exact: formula"), (
        f"FP32 <b>{fp32 / MIB:.1f} MiB</b>, AMP <b>{amp / MIB:.1f} MiB</b> · "
        f"{tokens} tokens a batch: AMP holds {side}; they cross near <b>{crossing:,} tokens</b>"
    )


def break_even(config: GPTConfig) -> int:
    """The fewest tokens a batch with which AMP holds less than FP32, of lines of one token.

    By search in `step_bytes`: what AMP saves grows with each token, what it adds doesn't.
    """
    one_token = replace(config, context=1)

    def saved(tokens: int) -> int:
        fp32, amp = (
            sum(step_bytes(RECIPES[name], one_token, tokens).values())
            for name in ("FP32", "AMP BF16")
        )
        return fp32 - amp

    return bisect_left(range(MOST_TOKENS), 1, key=saved)


def title(fp32: int, amp: int) -> str:
    """A title that says how AMP changes the bytes of this step."""
    change = amp / fp32 - 1
    return f"Here AMP holds {abs(change):.0%} {'more' if change > 0 else 'less'} than FP32"
