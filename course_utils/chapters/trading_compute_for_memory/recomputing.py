"""What running things again costs a training step, in FLOPs."""

import math

from course_utils.chapters.trading_compute_for_memory.plans import Plan


def forward_flops(plan: Plan) -> int:
    """FLOPs of a forward pass's products and attention (the whole square, as torch counts)."""
    return plan.tokens * (plan.shape.layers * _block_flops(plan) + 2 * plan.shape.head)


def recomputed_flops(plan: Plan) -> int:
    """FLOPs that are spent again in the backward pass.

    A segment stops as soon as what was kept in it is there again, so its last product isn't run.
    """
    shape, loss = plan.shape, 2 * plan.shape.head if plan.chunked_loss else 0
    products = [2 * out * into for out, into in shape.products]
    again = (
        shape.layers * _block_flops(plan) - math.ceil(shape.layers / plan.segment) * products[-1]
    )
    if plan.checkpointing in ("none", "selective"):
        again = 0
    elif plan.checkpointing == "every second product":
        again = shape.layers * sum(products[1:-1:2])
    return plan.tokens * (again + loss)


def relative_time(plan: Plan) -> float:
    """FLOPs of the step over those without recomputing: 1.3 is 30% more.

    FLOPs only: norms and activation functions that are run again, the links of a GPU to others
    and the optimizer's own time aren't in it. A backward pass takes two products for each of the
    forward's, and attention's five for two.
    """
    attention = plan.tokens * plan.shape.layers * 4 * plan.line * plan.shape.width
    return 1 + recomputed_flops(plan) / (3 * forward_flops(plan) + attention // 2)


def _block_flops(plan: Plan) -> int:
    """Of one block's forward pass, for each token."""
    return 2 * plan.shape.block_matrices + 4 * plan.line * plan.shape.width
