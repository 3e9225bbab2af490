"""The formula of a training step's bytes beside the count of its storages."""

import pytest
import torch
from torch.nn import functional as F

from course_utils.memory import counting
from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.gpt_bytes import step_bytes
from course_utils.workloads.recipes import RECIPES, autocast

CONFIGS = [GPTConfig(50, 16, 3, 2, 24), GPTConfig(7, 5, 1, 1, 8)]
COUNTED = ["FP32", "AMP BF16", "pure BF16", "pure BF16 + Kahan"]


def counted_step(recipe, config, batch):
    """The second step of an accumulation: gradients and Adam's states are there already."""
    model = GPT(config).to(recipe.weights)
    optimizer = recipe.optimizer(model.parameters(), lr=1e-3)
    tokens, targets = torch.randint(config.vocabulary, (2, batch, config.context))

    def loss():
        with autocast("cpu", recipe.autocast):
            return F.cross_entropy(model(tokens).flatten(0, 1).float(), targets.flatten())

    loss().backward()
    optimizer.step()
    with counting.count(model, optimizer, (tokens, targets)) as counted:
        loss().backward()
        optimizer.step()
    return counted


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", COUNTED)
def test_the_formula_is_the_count_to_the_byte(name, batch, config):
    found = counted_step(RECIPES[name], config, batch).before("backward").n_bytes
    for kind, n_bytes in step_bytes(RECIPES[name], config, batch).items():
        assert found[kind] == n_bytes, kind
