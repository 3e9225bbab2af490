"""Checkers for chapter 10, "Trading compute for memory"."""

import copy
import math
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.chapters.trading_compute_for_memory.counted import counted_flops
from course_utils.lesson.answers import as_number, close, shown
from course_utils.lesson.exercises import Wrong, exercise
from course_utils.memory.counting import count
from course_utils.workloads.gpt import GPT, GPTConfig

# ---- A step of several micro-batches, held against that of the whole batch.

MicroBatches = list[tuple[Tensor, Tensor]]
CONFIG = GPTConfig(vocabulary=40, context=16, layers=1, heads=2, width=16)
SLACK = 2.0  # times the largest graph: for logits of the one before, sums of gradients


def judge_step(accumulate: Callable[..., Any], shares: list[float]) -> None:
    """One step of micro-batches of which these shares of the tokens count, at least one in all.

    The parameters hold gradients before, of something else. Raises: Wrong.
    """
    model, micro_batches = GPT(CONFIG), [_micro_batch(share) for share in shares]
    want, wanted = _whole_batch(model, micro_batches)
    largest = max(micro_batches, key=lambda pair: pair[0].numel())
    most = SLACK * _graph(copy.deepcopy(model), largest)
    tokens = [int((targets != -100).sum()) for _, targets in micro_batches]
    case = f"micro-batches of {', '.join(map(str, tokens))} tokens that count: "
    stepped: list[list[Tensor | None]] = []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_post_hook(
        lambda *_: stepped.append([copy.deepcopy(p.grad) for p in model.parameters()])
    )
    before = [torch.randn_like(parameter) for parameter in model.parameters()]
    for parameter, grad in zip(model.parameters(), before, strict=True):
        parameter.grad = grad.clone()
    with count(model) as counted:
        loss = accumulate(model, optimizer, list(micro_batches))
    if len(stepped) != 1:
        raise Wrong(f"{case}optimizer.step() ran {len(stepped)} times, want once")
    if isinstance(loss, Tensor) and loss.requires_grad:
        raise Wrong(f"{case}you return a tensor with a graph, {shown(loss)}, want a float")
    _compare_gradients(stepped[0], wanted, before, case)
    if not close(got := as_number(loss), want, rel_tol=1e-4):
        raise Wrong(f"{case}you return {got:.5f}, the mean loss of all of them is {want:.5f}")
    held = counted.kept("activation")
    if held > most:
        raise Wrong(
            f"{case}{held:,} bytes of activations are alive at once: {held * SLACK / most:.1f} "
            "times those of the largest micro-batch"
        )


def _micro_batch(share: float) -> tuple[Tensor, Tensor]:
    """Tokens and their targets, of which a share counts, rounded up."""
    shape = 2, random.randint(12, CONFIG.context)
    tokens, targets = (torch.randint(CONFIG.vocabulary, shape) for _ in range(2))
    ignored = torch.randperm(targets.numel())[math.ceil(share * targets.numel()) :]
    targets.view(-1)[ignored] = -100
    return tokens, targets


def _whole_batch(model: nn.Module, micro_batches: MicroBatches) -> tuple[float, list[Tensor]]:
    """The mean loss over all tokens that count, and its gradients, in FP64."""
    exact = copy.deepcopy(model).double()
    logits = torch.cat([exact(tokens).flatten(0, 1) for tokens, _ in micro_batches])
    loss = F.cross_entropy(logits, torch.cat([targets.flatten() for _, targets in micro_batches]))
    return loss.item(), list(torch.autograd.grad(loss, list(exact.parameters())))


def _graph(model: nn.Module, micro_batch: tuple[Tensor, Tensor]) -> int:
    """The bytes that one micro-batch's forward keeps for its backward."""
    tokens, targets = micro_batch
    with count(model) as counted:
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        loss.backward()
    return counted.kept("activation")


def _compare_gradients(
    got: list[Tensor | None], want: list[Tensor], before: list[Tensor], case: str
) -> None:
    """All gradients as one vector, by its norm."""
    if any(one is None for one in got):
        raise Wrong(f"{case}a parameter has no gradient at optimizer.step()")
    found, wanted, old = (
        torch.cat([torch.as_tensor(g).flatten() for g in gs]) for gs in (got, want, before)
    )
    off, without = (float((one - wanted).norm() / wanted.norm()) for one in (found, found - old))
    if not off < 1e-4:
        why = ": what .grad held before is still in it" if without < 1e-3 else ""
        raise Wrong(f"{case}at optimizer.step() the gradient is off by {off:.0%}{why}")


# ---- A loss in chunks, held against the plain one: value, gradients, logits that it holds,
# FLOPs.

VOCABULARY, WIDTH = 601, 4
COPIES = 6  # of a chunk's logits: its softmax, gradients, a mask, one-hot rows


def judge(chunked_loss: Callable[..., Any], n: int, chunk: int) -> None:
    """One loss of `n` rows, the second chunk's targets all ignored, times a factor backward.

    Raises: Wrong.
    """
    case, factor = f"{n} rows, chunk={chunk}: ", random.choice([0.25, 3.0])
    targets = torch.randint(VOCABULARY, (n,))
    targets[torch.rand(n) < 0.3] = -100
    targets[chunk : 2 * chunk] = -100
    targets[[0, -1]] = 0
    hidden = torch.randn(n, WIDTH, requires_grad=True)
    weight = torch.randn(VOCABULARY, WIDTH, requires_grad=True)
    with count(inputs=(hidden, weight, targets)) as counted:
        loss = chunked_loss(hidden, weight, targets, chunk)
        if not isinstance(loss, Tensor) or not loss.requires_grad:
            raise Wrong(f"{case}you return {shown(loss)}, want a tensor that can go backward")
        (factor * loss).backward()
    _compare(loss.item(), hidden, weight, targets, factor, case)
    _count_logits(counted, hidden, weight, chunk, case)
    flops = counted_flops(lambda: chunked_loss(hidden, weight, targets, chunk).backward())
    plain = 3 * 2 * n * VOCABULARY * WIDTH
    if flops > plain:
        raise Wrong(
            f"{case}{flops:,} FLOPs forward and backward, want the plain loss's {plain:,}: is a "
            "product computed twice?"
        )


def _compare(
    loss: float, hidden: Tensor, weight: Tensor, targets: Tensor, factor: float, case: str
) -> None:
    """With the plain loss in FP64."""
    given = {"hidden": hidden, "weight": weight}
    exact = {name: one.detach().double().requires_grad_() for name, one in given.items()}
    want = F.cross_entropy(exact["hidden"] @ exact["weight"].T, targets)
    want.backward()
    if not close(loss, want.item(), rel_tol=1e-5):
        raise Wrong(f"{case}the loss is {loss:.6g}, want {want.item():.6g}")
    for name, one in given.items():
        after = f"{case}after ({factor:g} * loss).backward(), {name}.grad is"
        if one.grad is None:
            raise Wrong(f"{after} None")
        right: Any = exact[name].grad
        off, alone = (
            float((one.grad - k * right).norm() / (k * right).norm()) for k in (factor, 1.0)
        )
        if not off < 1e-4:
            why = ": it is the gradient of loss alone" if alone < 1e-4 else ""
            raise Wrong(f"{after} off by {off:.0%}{why}")


def _count_logits(counted: count, hidden: Tensor, weight: Tensor, chunk: int, case: str) -> None:
    """Counts as logits what isn't a gradient, up to four of each, or a few numbers a row."""
    others = 4 * weight.nbytes + 4 * hidden.nbytes + 100 * len(hidden)
    held = counted.peak.total - counted.moments[0].total - others
    rows, most = held / (4 * VOCABULARY), COPIES * min(chunk, len(hidden))
    if rows > most:
        raise Wrong(
            f"{case}at a time in the {counted.peak.phase} about {rows:.0f} rows of logits are "
            f"alive, copies and their gradients among them, want at most {COPIES} · {chunk}"
        )


@exercise(
    "trade.chunks",
    todo="write chunked_loss(hidden, weight, targets, chunk): the plain loss, few logits alive.",
    hints=(
        "The mean over all targets that count is a sum of sums, divided once. hidden.split(chunk) "
        "may end in a shorter one; a mean over a chunk whose targets are all -100 is NaN.",
        "In a loop alone the graph keeps each chunk's softmax for the backward; a checkpoint of "
        "each chunk doesn't, but runs its product again.",
        "With a torch.autograd.Function of your own: the gradient of a chunk's logits is softmax - "
        "one-hot, over the number of targets that count. Make both gradients in the forward, save "
        "them, and multiply them in the backward by what comes in.",
    ),
)
def check_chunks(chunked_loss: Callable[..., Any]) -> str:
    """Value, gradients and counted bytes, at each edge; what goes backward isn't the loss alone."""
    chunk = random.randint(10, 12)
    for n, each in [(12 * chunk, chunk), (12 * chunk + 3, chunk), (8, 1), (20, 64), (1, 1)]:
        judge(chunked_loss, n, each)
    return (
        "1 to over 120 rows, some chunks with no target that counts: the plain loss's gradients, "
        f"never over {COPIES} chunks of logits, each product once"
    )


@exercise(
    "trade.accumulate",
    todo="write accumulate(model, optimizer, micro_batches): one step, as of one whole batch.",
    hints=(
        "The mean over all tokens weighs a micro-batch by its tokens whose target isn't -100. "
        "The targets are there before any forward: count them all first.",
        "backward() adds to .grad and lets its graph go. One for each micro-batch, before the "
        "next forward, holds the activations of one.",
        'reduction="sum", over the number of all tokens, is a micro-batch\'s share of the mean: '
        "the shares' gradients add up to the mean's, and the shares to the loss.",
    ),
)
def check_accumulate(accumulate: Callable[..., Any]) -> str:
    """Groups of one to four micro-batches on a small GPT that already holds gradients."""
    for group in ([1.0, 0.1, 0.6, 0.3], [0.2, 0.0, 1.0], [0.5]):
        judge_step(accumulate, random.sample(group, len(group)))
    return "groups of 1 to 4 uneven micro-batches: one step, the whole batch's gradients, one graph"
