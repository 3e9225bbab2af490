"""Wrong answers to chapter 10's exercises, each as a student might write it."""

import itertools

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.support.patches import by_name, changed


def the_plain_loss(hidden, weight, targets, chunk):
    return F.cross_entropy(hidden @ weight.T, targets)


def part(rows, weight, wanted):
    return F.cross_entropy(rows @ weight.T, wanted, reduction="sum")


def keeps_each_graph(hidden, weight, targets, chunk):
    parts = map(part, hidden.split(chunk), itertools.repeat(weight), targets.split(chunk))
    return sum(parts) / (targets != -100).sum()


def one_checkpoint_for_all_chunks(hidden, weight, targets, chunk):
    return checkpoint(keeps_each_graph, hidden, weight, targets, chunk, use_reentrant=False)


def checkpoints_each_chunk(hidden, weight, targets, chunk):
    chunks = zip(hidden.split(chunk), targets.split(chunk), strict=True)
    parts = [checkpoint(part, h, weight, t, use_reentrant=False) for h, t in chunks]
    return sum(parts) / (targets != -100).sum()


class InTheBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, chunk):
        ctx.save_for_backward(hidden, weight, targets)
        ctx.chunk = chunk
        return keeps_each_graph(hidden, weight, targets, chunk)

    @staticmethod
    def backward(ctx, grad):
        hidden, weight, targets = ctx.saved_tensors
        grad = grad / (targets != -100).sum()
        for_hidden, for_weight = [], torch.zeros_like(weight)
        for rows, wanted in zip(hidden.split(ctx.chunk), targets.split(ctx.chunk), strict=True):
            probability = (rows @ weight.T).softmax(1)
            counts = (wanted != -100).nonzero().flatten()
            probability[counts, wanted[counts]] -= 1
            probability[wanted == -100] = 0
            for_hidden.append(grad * probability @ weight)
            for_weight += grad * probability.T @ rows
        return torch.cat(for_hidden), for_weight, None, None


def again_in_the_backward(hidden, weight, targets, chunk):
    return InTheBackward.apply(hidden, weight, targets, chunk)


def goes_backward_by_itself(hidden, weight, targets, chunk):
    loss, n = 0, (targets != -100).sum()
    for rows, wanted in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        share = part(rows, weight, wanted) / n
        share.backward()
        loss += share.detach()
    return loss.requires_grad_()


def broken(model, optimizer, micro_batches):
    optimizer.zero_grad()
    total = 0
    for tokens, targets in micro_batches:
        logits = model(tokens).flatten(0, 1)
        total += F.cross_entropy(logits, targets.flatten())
    loss = total / 4
    loss.backward()
    optimizer.step()
    return loss.item()


def as_one_batch(model, optimizer, micro_batches):
    longest = max(tokens.shape[1] for tokens, _ in micro_batches)
    tokens = torch.cat([F.pad(x, (0, longest - x.shape[1])) for x, _ in micro_batches])
    targets = torch.cat([F.pad(y, (0, longest - y.shape[1]), value=-100) for _, y in micro_batches])
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    loss.backward()
    optimizer.step()
    return loss.item()


APPLY = "InChunks.apply(hidden, weight, targets, chunk)"
MEAN = 'reduction="sum") / n'
TOTAL, STEP = "total = total + loss.detach()", "    optimizer.step()\n"
WRONG = {
    "trade.chunks": [
        the_plain_loss,
        keeps_each_graph,
        one_checkpoint_for_all_chunks,
        checkpoints_each_chunk,
        again_in_the_backward,
        goes_backward_by_itself,
        *changed(
            "trade.chunks",
            counts_the_ignored={"(targets != -100).sum()": "len(targets)"},
            mean_of_means={f", {MEAN}": ") / len(targets.split(chunk))"},
            mean_of_means_without_nan={
                "/ n\n": "/ (wanted != -100).sum().clamp(min=1) / "
                "sum((one != -100).any() for one in targets.split(chunk))\n"
            },
            forgets_the_rest={
                f"return {APPLY}": "whole = max(len(hidden) // chunk, 1) * chunk\n"
                "    return InChunks.apply(hidden[:whole], weight, targets[:whole], chunk)"
            },
            without_the_weight={APPLY: APPLY.replace("weight", "weight.detach()")},
            ignores_what_comes_in={
                "grad * for_hidden, grad * for_weight": "for_hidden, for_weight"
            },
        ),
    ],
    "trade.accumulate": [
        broken,
        as_one_batch,
        *changed(
            "trade.accumulate",
            divides_by_their_number={f", {MEAN}": ") / len(micro_batches)"},
            counts_the_ignored_tokens={"(targets != -100).sum()": "targets.numel()"},
            one_backward_at_the_end={
                f"        loss.backward()\n        {TOTAL}": "        total = total + loss\n"
                "    total.backward()"
            },
            keeps_the_graphs_for_the_log={
                "loss.backward()": "loss.backward(retain_graph=True)",
                "loss.detach()": "loss",
            },
            gradients_from_before={"    optimizer.zero_grad()\n": ""},
            only_the_last_gradient={"logits =": "optimizer.zero_grad()\n        logits ="},
            steps_each_time={STEP: "", TOTAL: f"{TOTAL}\n    {STEP}"},
            never_steps={STEP: ""},
            returns_a_graph={TOTAL: "total = total + loss", "total.item()": "total"},
        ),
    ],
}
__getattr__ = by_name(WRONG)
