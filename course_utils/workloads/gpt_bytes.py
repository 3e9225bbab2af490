"""The bytes of a training step of the course's GPT, from a formula: no model, no memory needed.

The bytes are those in use when the backward pass begins, with gradients kept (as in accumulation):
at that moment everything that a recipe changes is in memory. `memory.count` finds the same numbers
on the CPU, byte for byte; `tests/workloads/test_gpt_bytes.py` compares them.
"""

from course_utils.workloads.gpt import GPTConfig
from course_utils.workloads.recipes import FULL, HALF, Recipe

INDEX = 8  # bytes of an int64 token id


def parameters(config: GPTConfig) -> int:
    """Returns the number of the model's parameters."""
    w = config.width
    norms_and_biases = (2 * config.layers + 1) * 2 * w + config.layers * 9 * w
    return _matrices(config) + norms_and_biases + config.context * w


def _matrices(config: GPTConfig) -> int:
    """Returns the number of weights in matrices; output and tokens share one."""
    return config.layers * 12 * config.width**2 + config.vocabulary * config.width


def activation_bytes(recipe: Recipe, config: GPTConfig, batch: int) -> int:
    """Returns the bytes saved for the backward pass, for `batch` samples of `context` tokens.

    A layer keeps 16 numbers for each token and channel: the residual stream twice, both norms'
    outputs, q, k and v, attention's output, and 4 each before and after the GELU; beside them
    two statistics a norm and one a head. Autocast keeps all but the residual stream in half. At
    the ends: the last norm, the loss's log-probabilities in FP32, positions and three scalars.
    """
    w, tokens = config.width, batch * config.context
    size = recipe.weights.itemsize
    inner = HALF if recipe.autocast else size
    layer = 2 * size * w + 14 * inner * w + 4 * size + FULL * config.heads
    ends = size * w + inner * w + 2 * size + FULL * config.vocabulary
    return tokens * (config.layers * layer + ends) + INDEX * config.context + 3 * FULL


def step_bytes(recipe: Recipe, config: GPTConfig, batch: int) -> dict[str, int]:
    """Returns bytes by kind (`memory.counting.KINDS`) when the backward pass begins.

    Gradients of an earlier backward pass are kept. Of autocast's half copies, those of matrices
    are left, which the backward pass needs; the biases' were freed with the cache when the autocast
    block ended. Adam counts its steps in an FP32 number for each of the 12 tensors of a layer and
    4 others.
    """
    n, size = parameters(config), recipe.weights.itemsize
    return {
        "parameter": n * size,
        "half copy": HALF * _matrices(config) if recipe.autocast else 0,
        "gradient": n * size,
        "optimizer state": n * size * (2 + recipe.kahan) + FULL * (12 * config.layers + 4),
        "activation": activation_bytes(recipe, config, batch),
    }
