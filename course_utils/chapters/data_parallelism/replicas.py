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


def count(
    link: CountedLink, steps: Mapping[str, Step], models: Mapping[str, nn.Module]
) -> dict[str, tuple[int, int, Tensor]]:
    """Messages and bytes of a step on a link, and the gradients that it leaves, by way."""
    found = {}
    for way, step in steps.items():
        link.reset()
        step()
        found[way] = link.messages, link.n_bytes, flat_gradients(models[way])
    return found


def plan(of: Any) -> list[tuple[list[str], int]]:
    """Returns the parameters' names and the bytes of each bucket of the page's `Bucketed`."""
    names = {p: name for name, p in of.model.named_parameters()}
    return [([names[p] for p in b.parameters], b.flat.nbytes) for b in of.buckets]


@dataclass(frozen=True)
class Watched:
    """Seconds of one step, from its start: `forward` pass's end, `ready` gradients, `end`."""

    forward: float
    ready: Mapping[str, float]
    end: float
    sent: Sequence[Span]

    @property
    def backward_seconds(self) -> float:
        """Seconds from the end of the forward pass to the last gradient."""
        return max(self.ready.values()) - self.forward

    @property
    def exposed_seconds(self) -> float:
        """Seconds from the last gradient to the end of the step."""
        return self.end - max(self.ready.values())

    def spans(self, way: str) -> list[Span]:
        """Returns three rows of a timeline: the rank, its gradients, the link."""
        last, tick = max(self.ready.values()), self.end / 500
        found = [
            Span(f"{way}: rank", "forward", 0.0, self.forward),
            Span(f"{way}: rank", "backward", self.forward, last),
            Span(f"{way}: rank", "wait", last, self.end),
        ]
        found += [Span(f"{way}: gradients", "ready", at - tick, at) for at in self.ready.values()]
        for place, s in enumerate(self.sent, 1):
            found.append(Span(f"{way}: link", "all_reduce", s.start, s.end, str(place)))
        return found


def watch(link: ClockLink, of: Any) -> Watched:
    """Runs a step of the page's `Bucketed` over a simulated link, and notes its times."""
    forward, ready = [0.0], dict[str, float]()
    hooks = [of.model.register_forward_hook(lambda *_: forward.append(time.perf_counter()))]
    for name, p in of.model.named_parameters():

        def note(_: Tensor, name: str = name) -> None:
            ready[name] = time.perf_counter()

        hooks.append(p.register_post_accumulate_grad_hook(note))
    began = time.perf_counter()
    end = link.clock(of.step)
    for hook in hooks:
        hook.remove()
    sent = [s for s in link.spans if s.label == "all_reduce"]
    return Watched(forward[-1] - began, {n: at - began for n, at in ready.items()}, end, sent)


def inputs(device: torch.device | str) -> Tensor:
    """Returns 128 samples of nine features, the same on every rank."""
    return torch.randn(128, 9, generator=torch.Generator().manual_seed(0)).to(device)


def small_net(*between: nn.Module) -> nn.Sequential:
    """Returns a net from 9 features to 13, with `between` inside: equal weights on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(9, 32), *between, nn.Linear(32, 13))


def flat_gradients(model: nn.Module) -> Tensor:
    """Returns all gradients of a model as one vector, zeros for those it has not."""
    return torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in model.parameters()]
    )
