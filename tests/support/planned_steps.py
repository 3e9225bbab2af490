"""Training steps as the planner of chapter 10 plans them, to be run on a fake GPU."""

from functools import partial

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from course_utils.planner.plans import CHUNK
from course_utils.workloads.gpt import GPT

OPTIMIZERS = {
    "SGD": torch.optim.SGD,
    "Adam": torch.optim.Adam,
    "Adam, fused": partial(torch.optim.Adam, fused=True),
    "Adafactor": torch.optim.Adafactor,
}


def build_of(config, plan, make=GPT):
    """A `build` for predict_bytes: the step of `plan` with the model `make(config)`."""

    def build(device):
        with torch.device(device):
            model = make(config)
            tokens, targets = torch.randint(config.vocabulary, (2, plan.batch, config.context))
        model.to(torch.bfloat16 if plan.recipe == "pure BF16" else torch.float32)
        optimizer = OPTIMIZERS[plan.optimizer](model.parameters())
        if plan.in_backward:
            update_in_backward(model, OPTIMIZERS[plan.optimizer], optimizer)

        def step():
            optimizer.zero_grad()
            with torch.autocast(device.type, torch.bfloat16, plan.recipe == "AMP BF16"):
                loss = loss_of(model, plan, hidden_of(model, plan, tokens), targets.flatten())
            loss.backward()
            if not plan.in_backward:
                optimizer.step()

        return model, optimizer, step

    return build


def update_in_backward(model, make, shown):
    """Every weight gets an optimizer of its own; their states are `shown`'s, for the count."""
    own = {p: make([p]) for p in model.parameters()}

    def update(p):
        own[p].step()
        own[p].zero_grad()
        shown.state[p] = own[p].state[p]

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(update)


def hidden_of(model, plan, tokens):
    """What the last norm gives, its blocks run in segments where they are run again."""
    x = model.tokens(tokens)
    if hasattr(model, "positions"):
        x = x + model.positions(torch.arange(tokens.shape[1], device=tokens.device))
    blocks = list(model.blocks)
    size = plan.segment if plan.checkpointing != "none" else 1
    for i in range(0, len(blocks), size):
        segment = torch.nn.Sequential(*blocks[i : i + size])
        again = plan.checkpointing != "none"
        options = {"context_fn": selective} if plan.checkpointing == "selective" else {}
        x = checkpoint(segment, x, use_reentrant=False, **options) if again else segment(x)
    return model.norm(x).flatten(0, 1)


def selective():
    """Contexts that keep the results of products and of attention."""
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    aten = torch.ops.aten
    kept = {
        aten.mm.default, aten.addmm.default,
        aten._scaled_dot_product_flash_attention.default,
        aten._scaled_dot_product_efficient_attention.default,
        aten._scaled_dot_product_flash_attention_for_cpu.default,
    }  # fmt: skip

    def policy(_, op, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def loss_of(model, plan, hidden, targets):
    """Mean cross-entropy; logits of weights in BF16 are compared in FP32."""
    head = getattr(model, "head", model.tokens).weight

    def loss(some, theirs, reduction="sum"):
        logits = F.linear(some, head)
        logits = logits.float() if plan.recipe == "pure BF16" else logits
        return F.cross_entropy(logits, theirs, reduction=reduction)

    if plan.fused_loss:
        options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=CHUNK)
        return F.linear_cross_entropy(hidden, head, targets, options=options)
    if not plan.chunked_loss:
        return loss(hidden, targets, "mean")
    chunks = zip(hidden.split(CHUNK), targets.split(CHUNK), strict=True)
    sums = [checkpoint(loss, *chunk, use_reentrant=False) for chunk in chunks]
    return sum(sums) / len(targets)
