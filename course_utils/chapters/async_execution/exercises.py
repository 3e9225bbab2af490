"""Checkers for chapter 2, "Async execution"."""

import copy
import math
import random
from collections.abc import Callable
from typing import Any

import torch

from course_utils.chapters.async_execution.blockers import find_blockers
from course_utils.chapters.async_execution.streams import (
    Host,
    VirtualStream,
    queue_spans,
    race,
    spans,
)
from course_utils.figures.timeline import draw
from course_utils.lesson.exercises import Wrong, exercise


@exercise(
    "async.speedup",
    todo="write speedup(t1, t2, t3, n): time with a wait after each launch / time queued.",
    hints=(
        "Waiting after each launch costs n·(t1+t2+t3). Draw the queued case for t1 < t2.",
        "Now draw it for t1 > t2: the backend waits for launches. Which time counts n times?",
    ),
)
def check_speedup(speedup: Callable[[float, float, float, int], float]) -> str:
    """Compares with a queue simulated piece by piece, for device-bound and launch-bound work."""
    for _ in range(50):
        launch, run, back = (10 ** random.uniform(-6, -3) for _ in range(3))
        n = random.choice([1, 2, 10, 1000])
        queued = max(span.end for span in queue_spans(launch, run, back, n))
        want = n * (launch + run + back) / queued
        got = float(speedup(launch, run, back, n))
        if not math.isclose(got, want, rel_tol=1e-6):
            times = (
                f"t1={launch * 1e6:.3g} µs, t2={run * 1e6:.3g} µs, t3={back * 1e6:.3g} µs, N={n}"
            )
            bound = "launch" if launch > run else "device"
            raise Wrong(f"for {times} ({bound}-bound) you say {got:.3f}, want {want:.3f}")
    return "50 random queues, launch-bound and device-bound, from 1 to 1000 pieces of work"


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
    steps, width = random.randint(3, 6), random.randint(3, 9)
    model = torch.nn.Linear(width, 2)
    batches = [(3 * torch.randn(8, width), torch.randn(8, 2)) for _ in range(steps)]
    wanted_model, wanted_log = _trained(slow_train, model, batches)
    got_model, got_log = _trained(quick_train, model, batches)
    _compare_logs(got_log, wanted_log)
    for got, want in zip(got_model.parameters(), wanted_model.parameters(), strict=True):
        if not torch.allclose(got, want, rtol=1e-4, atol=1e-5):
            raise Wrong("the trained weights differ from those of slow_train")
    waits = find_blockers(quick_train, copy.deepcopy(model), batches, lambda losses: None)
    if len(waits) > 1:
        lines = "; ".join(dict.fromkeys(str(wait) for wait in waits))
        raise Wrong(f"waits {len(waits)} times in {steps} steps, want 1 in all: {lines}")
    return "a random model and random batches: same log, same weights, one wait"


def _trained(train: Callable[..., None], model: Any, batches: list[Any]) -> tuple[Any, list[Any]]:
    mine = copy.deepcopy(model)
    logged: list[Any] = []
    train(mine, batches, logged.append)
    return mine, logged


def _compare_logs(got: list[Any], want: list[Any]) -> None:
    if len(got) != 1:
        raise Wrong(f"log was called {len(got)} times, want once, with all losses")
    if not isinstance(got[0], list) or not all(isinstance(loss, float) for loss in got[0]):
        raise Wrong("log wants a list of Python floats; a logger can't draw tensors on a device")
    if len(got[0]) != len(want[0]):
        raise Wrong(f"{len(got[0])} losses were logged for {len(want[0])} steps")
    pairs = zip(got[0], want[0], strict=True)
    for step, (loss, wanted) in enumerate(pairs, start=1):
        if not math.isclose(loss, wanted, rel_tol=1e-4, abs_tol=1e-5):
            raise Wrong(f"step {step} logged {loss:.5f}, slow_train logs {wanted:.5f}")


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
    picture = draw(spans(host.accesses), "Your schedule, in virtual time", ["copy", "compute"],
                   exact=True)  # fmt: skip
    collision = race(host.accesses)
    if collision:
        raise Wrong(f"{case}{collision}", picture)
    if host.waits:
        raise Wrong(f"{case}the host waited {host.waits} times: let the streams wait", picture)
    took = max(a.end for a in host.accesses)
    best = copy_seconds + compute_seconds + (n - 1) * max(copy_seconds, compute_seconds)
    if took > best:
        raise Wrong(f"{case}took {took:g} s, want {best:g} s", picture)
