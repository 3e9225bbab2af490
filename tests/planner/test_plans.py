"""The FLOPs of running things again, beside those that torch counts in the real step."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_utils.planner import Plan, Shape, relative_time
from course_utils.workloads.gpt import GPT, GPTConfig
from tests.support.planned_steps import hidden_of, loss_of

LINE = 1280  # over a chunk of the loss


@pytest.mark.parametrize("checkpointing", ["none", "selective", "sqrt", "every block"])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_flops_are_those_that_torch_counts(checkpointing, chunked):
    config = GPTConfig(vocabulary=97, context=LINE, layers=4, heads=2, width=32)
    plan = Plan(
        Shape.of_gpt(config), recipe="FP32", checkpointing=checkpointing, chunked_loss=chunked
    )

    def flops(plan):
        model = GPT(config)
        tokens = torch.zeros(1, config.context, dtype=torch.int64)
        with FlopCounterMode(display=False, custom_mapping=cpu_attention()) as counter:
            loss_of(model, plan, hidden_of(model, plan, tokens), tokens.flatten()).backward()
        return counter.get_total_flops()

    plain = replace(plan, checkpointing="none", chunked_loss=False)
    assert relative_time(plan) == pytest.approx(flops(plan) / flops(plain), abs=1e-4)


def cpu_attention():
    """FLOPs of the CPU's attention, which torch's counter doesn't know."""
    aten, size = torch.ops.aten, 2 * 2 * LINE * LINE * 16
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: lambda *_, **__: 2 * size,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: lambda *_, **__: 5 * size,
    }
