"""Checkers for chapter 2, "Async execution"."""

import copy
import random
from collections.abc import Callable
from typing import Any

import torch

from course_utils.chapters.async_execution.blockers import find_blockers
from course_utils.chapters.async_execution.streams import (
    Host,
    VirtualStream,
    race,
    spans,
)
from course_utils.figures.timeline import draw
from course_utils.lesson.answers import as_list, compare
from course_utils.lesson.exercises import Wrong, exercise

Batches = list[tuple[torch.Tensor, torch.Tensor]]


def slow_train(model: Any, batches: list[Any], log: Callable[[list[float]], None]) -> None:
    """The loop that the exercise begins with; the notebook shows the same lines."""
    losses = []
    for x, y in batches:
        error = (model(x) - y).abs()
        large = error[error > 0.1]
        loss = large.sum() / error.numel()
        loss.backward()
        grad = model.weight.grad
        if grad.norm() > 1:
            grad /= grad.norm()
        model.weight.data -= 0.1 * grad
        model.zero_grad()
        losses.append(loss.item())
    log(losses)


@exercise(
    "async.hidden_waits",
    todo="write quick_train: it logs and learns the same as slow_train, and waits once.",
    hints=(
        "error[error > 0.1] has as many entries as the mask has ones: who must know how many? "
        "torch.where keeps the shape.",
        "if grad.norm() > 1 asks the host to decide. norm.clamp(min=1) decides on the device.",
        "Keep loss.detach() each step; torch.stack(kept).tolist() reads all of them at once.",
    ),
)
def check_hidden_waits(quick_train: Callable[..., None]) -> str:
    """Same log and same weights as `slow_train`, on a random model, with one wait in all."""
    model, batches = _problem()
    wanted_model, wanted_log = _trained(slow_train, model, batches)
    got_model, got_log = _trained(quick_train, model, batches)
    if len(got_log) != 1:
        raise Wrong(f"log was called {len(got_log)} times, want once, with all losses")
    if any(isinstance(x, torch.Tensor) for x in (got_log[0], *got_log[0])):
        raise Wrong("log wants a list of Python floats; a logger can't draw tensors on a device")
    where = f"of {len(batches)} steps, the losses logged"
    compare(got_log[0], wanted_log[0], where, rel_tol=1e-4, abs_tol=1e-5)
    for got, want in zip(got_model.parameters(), wanted_model.parameters(), strict=True):
        if not torch.allclose(got, want, rtol=1e-4, atol=1e-5):
            raise Wrong("the trained weights differ from those of slow_train")
    waits = find_blockers(quick_train, *copy.deepcopy((model, batches)), as_list)
    if len(waits) > 1:
        lines = "; ".join(dict.fromkeys(str(wait) for wait in waits))
        raise Wrong(f"waits {len(waits)} times in {len(batches)} steps, want 1 in all: {lines}")
    return "a random model and random batches: same log, same weights, one wait"


def _problem() -> tuple[torch.nn.Linear, Batches]:
    """A model and batches: the large ones' gradients are clipped, the small ones' aren't.

    In the first batch an error is a bit under slow_train's limit of 0.1, and one a bit over it.
    """
    width = random.randint(3, 9)
    model = torch.nn.Linear(width, 2)
    sizes = random.sample([10.0, 0.1] * 3, random.randint(4, 6))
    batches = [(size * torch.randn(8, width), torch.randn(8, 2)) for size in sizes]
    x, y = batches[0]
    with torch.no_grad():
        y[:2] = model(x[:2]) + torch.tensor([[0.09], [0.12]])
    return model, batches


def _trained(train: Callable[..., None], model: Any, batches: Batches) -> tuple[Any, list[Any]]:
    """The model that `train` leaves, and what it gave the logger, gone through at once."""
    mine, logged = copy.deepcopy(model), list[Any]()

    def log(losses: Any) -> None:
        logged.append(losses if isinstance(losses, torch.Tensor) else as_list(losses))

    train(mine, copy.deepcopy(batches), log)
    return mine, logged


@exercise(
    "async.double_buffer",
    todo="write double_buffer(n, copier, computer): copy chunk i+1 while chunk i is computed.",
    hints=(
        "Chunk i goes to buffer i % 2. The computer waits for the event after its copy.",
        "Before chunk i is copied, the computation of chunk i-2 must have left the buffer.",
    ),
)
def check_double_buffer(double_buffer: Callable[..., None]) -> str:
    """Runs the schedule in virtual time, with copies slower and quicker than the computation."""
    for copy_seconds, compute_seconds in ((2.0, 3.0), (3.0, 2.0), (1.0, 4.0), (4.0, 1.0)):
        n = random.randint(4, 9)
        host = Host()
        copier = VirtualStream("copy", host, copy_seconds, writes=True)
        computer = VirtualStream("compute", host, compute_seconds, writes=False)
        double_buffer(n, copier, computer)
        _judge_schedule(host, n, copy_seconds, compute_seconds)
    return "four pairs of copy and compute times: no race, no idle engine, no waiting host"


def _judge_schedule(host: Host, n: int, copy_seconds: float, compute_seconds: float) -> None:
    done = [a.chunk for a in host.accesses if not a.writes]
    case = f"{n} chunks, copy {copy_seconds:g} s, compute {compute_seconds:g} s: "
    if done != list(range(n)):
        raise Wrong(f"{case}computed chunks {done}, want 0 to {n - 1} in order")
    if len({a.buffer for a in host.accesses}) > 2:
        raise Wrong(f"{case}used {len({a.buffer for a in host.accesses})} buffers, want 2")

    def picture() -> Any:
        shown, rows = spans(host.accesses), ["copy", "compute"]
        return draw(shown, "Your schedule, in virtual time", rows, exact=True)

    collision = race(host.accesses)
    if collision:
        raise Wrong(f"{case}{collision}", picture)
    if host.waits:
        raise Wrong(f"{case}the host waited {host.waits} times: let the streams wait", picture)
    took = max(a.end for a in host.accesses)
    best = copy_seconds + compute_seconds + (n - 1) * max(copy_seconds, compute_seconds)
    if took > best:
        raise Wrong(f"{case}took {took:g} s, want {best:g} s", picture)
