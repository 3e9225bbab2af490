"""Models, samples and timed steps for chapter 12's ranks."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course_utils.chapters.data_parallelism.links import ClockLink, CountedLink
from course_utils.figures.timeline import Span
from course_utils.workloads.addition import ALPHABET, LINE, Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig

SAMPLES = 32  # in a rank's batch
Step = Callable[[], object]  # computes and averages the gradients of one batch


def replica(device: torch.device | str, layers: int = 4, width: int = 128) -> GPT:
    """Returns a GPT, equal on every rank: 52 parameters, 3.2 MB together, unless asked for else."""
    torch.manual_seed(0)
    return GPT(GPTConfig(len(ALPHABET), LINE, layers, heads=4, width=width)).to(device)


def backward(model: nn.Module, batch: int = 0) -> None:
    """Adds the gradients of this rank's 32 samples of a batch to `p.grad`."""
    first = (batch * dist.get_world_size() + dist.get_rank()) * SAMPLES
    mine = _train()[first : first + SAMPLES].to(next(model.parameters()).device)
    answer_loss(model, mine).backward()


@cache
def _train() -> Tensor:
    return Addition().train


def count(link: CountedLink, steps: Mapping[str, Step]) -> dict[str, tuple[int, int]]:
    """Messages and bytes of a step on a link, by way."""
    found = {}
    for way, step in steps.items():
        link.reset()
        step()
        found[way] = link.messages, link.n_bytes
    return found


@dataclass(frozen=True)
class Watched:
    """Seconds of one step, from its start: `forward` pass's end, `ready` gradients, `end`.

    A bucket has `sizes` bytes and is `full` when its last gradient is ready.
    """

    forward: float
    ready: Sequence[float]
    full: Sequence[float]
    sizes: Sequence[int]
    end: float
    sent: Sequence[Span]

    @property
    def backward_seconds(self) -> float:
        """Seconds from the end of the forward pass to the last gradient."""
        return max(self.ready) - self.forward

    @property
    def exposed_seconds(self) -> float:
        """Seconds from the last gradient to the end of the step."""
        return self.end - max(self.ready)

    def spans(self, way: str) -> list[Span]:
        """Returns three rows of a timeline: the rank, its gradients, the link."""
        last, tick = max(self.ready), self.end / 500
        found = [
            Span(f"{way}: rank", "forward", 0.0, self.forward),
            Span(f"{way}: rank", "backward", self.forward, last),
            Span(f"{way}: rank", "wait", last, self.end),
        ]
        found += [Span(f"{way}: gradients", "ready", at - tick, at) for at in self.ready]
        for place, s in enumerate(self.sent, 1):
            found.append(Span(f"{way}: link", "all_reduce", s.start, s.end, str(place)))
        return found


def watch(link: ClockLink, of: Any) -> Watched:
    """Runs a step of the page's `Bucketed` over a simulated link, and notes its times."""
    forward, ready = [0.0], dict[Tensor, float]()

    def note(p: Tensor) -> None:
        ready[p] = time.perf_counter() - began

    hooks = [of.model.register_forward_hook(lambda *_: forward.append(time.perf_counter()))]
    hooks += [p.register_post_accumulate_grad_hook(note) for p in of.model.parameters()]
    began = time.perf_counter()
    end = link.clock(of.step)
    for hook in hooks:
        hook.remove()
    sent = [s for s in link.spans if s.label == "all_reduce"]
    full = [max(ready[p] for p in b.parameters) for b in of.buckets]
    sizes = [b.flat.nbytes for b in of.buckets]
    return Watched(forward[-1] - began, [*ready.values()], full, sizes, end, sent)


def inputs(device: torch.device | str) -> Tensor:
    """Returns 128 samples of nine features, the same on every rank."""
    return torch.randn(128, 9, generator=torch.Generator().manual_seed(0)).to(device)


def small_net(*between: nn.Module, seed: int = 0) -> nn.Sequential:
    """Returns a net from 9 features to 13, with `between` inside; its weights are the seed's."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(9, 32), *between, nn.Linear(32, 13))


def flat_gradients(model: nn.Module) -> Tensor:
    """Returns all gradients of a model as one vector, zeros for those it has not."""
    return torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in model.parameters()]
    )
