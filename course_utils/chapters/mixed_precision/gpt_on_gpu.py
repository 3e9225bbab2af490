"""A training step of a GPT on a GPU under a recipe: how fast, and how many bytes at most."""

import gc
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.core.measurement import Measurement
from course_utils.core.timing import measure
from course_utils.workloads import recipes
from course_utils.workloads.gpt import GPT, GPTConfig

WORDS = 50_257  # of GPT-2's vocabulary, which the model's is rounded up from


def measured_step(
    config: GPTConfig, recipe: recipes.Recipe, batch: int
) -> tuple[dict[str, int], Measurement]:
    """Tokens a second and the peak of the step's own bytes; and the seconds that a step took.

    Raises: torch.OutOfMemoryError where the batch doesn't fit, FloatingPointError where the loss
    is no number, as its speed then means nothing.
    """
    gc.collect()  # the last recipe's model is gone
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step = _step_of(config, recipe, batch)
    took = measure(step, clock="host", budget_seconds=1)
    if not step().isfinite():
        raise FloatingPointError("the loss is no number: its speed means nothing")
    found = {
        "tokens_per_s": round(batch * config.context / took.median),
        "peak_bytes": torch.cuda.max_memory_allocated() - before,
    }
    return found, took


def _step_of(config: GPTConfig, recipe: recipes.Recipe, batch: int) -> Callable[[], Tensor]:
    """A step on random tokens; Adam is fused where the recipe's own isn't, so without temporaries
    as large as the model."""
    with torch.device("cuda"):
        model = GPT(config).to(recipe.weights)
    optimizer = recipe.optimizer(model.parameters(), lr=1e-4, fused=not recipe.kahan)
    scaler = torch.amp.GradScaler("cuda", enabled=recipe.scales_loss)
    tokens, targets = torch.randint(WORDS, (2, batch, config.context), device="cuda")

    def step() -> Tensor:
        optimizer.zero_grad()
        with recipes.autocast("cuda", recipe.autocast):
            logits = model(tokens).flatten(0, 1).float()
            loss = F.cross_entropy(logits, targets.flatten())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step
