"""A training step of a GPT under a recipe, on a GPU: its speed and its peak memory."""

import gc
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.core.measurement import Measurement
from course_utils.core.timing import measure
from course_utils.workloads import recipes
from course_utils.workloads.gpt import GPT, GPTConfig

WORDS = 50_257  # of GPT-2's vocabulary, which the model's is rounded up from
Parts = tuple[nn.Module, torch.optim.Optimizer, Callable[[], Tensor]]


def measured_step(
    config: GPTConfig, recipe: recipes.Recipe, batch: int
) -> tuple[dict[str, int], Measurement]:
    """Returns tokens a second with the peak of the step's bytes, and the seconds of a step.

    Raises: torch.OutOfMemoryError where the batch doesn't fit, FloatingPointError where the loss
    is NaN or infinite, as its speed then means nothing.
    """
    gc.collect()  # the last recipe's model is gone
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    _model, _optimizer, step = _parts(config, recipe, batch, torch.device("cuda"))
    took = measure(step, clock="host", budget_seconds=1)
    recipes.refuse_nan(step())
    found = {
        "tokens_per_s": round(batch * config.context / took.median),
        "peak_bytes": torch.cuda.max_memory_allocated() - before,
    }
    return found, took


def _parts(config: GPTConfig, recipe: recipes.Recipe, batch: int, device: torch.device) -> Parts:
    """Model, optimizer and a step on random tokens.

    On a GPU Adam is fused where the recipe's own isn't, so without temporaries as large as the
    model.
    """
    with torch.device(device):
        model = GPT(config).to(recipe.weights)
        tokens, targets = torch.randint(WORDS, (2, batch, config.context))
    fused = device.type == "cuda" and not recipe.kahan
    optimizer = recipe.optimizer(model.parameters(), lr=1e-4, fused=fused)
    scaler = torch.amp.GradScaler(device.type, enabled=recipe.scales_loss)

    def step() -> Tensor:
        optimizer.zero_grad()
        with recipes.autocast(device.type, recipe.autocast):
            # The logits have no name: it would keep their FP32 copy through the backward.
            loss = F.cross_entropy(model(tokens).flatten(0, 1).float(), targets.flatten())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return model, optimizer, step
