"""Problems for chapter 12's third exercise, drawn so that each slip of its loop shows at the end.

What is right is known from one process with the whole batches.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Batches = list[tuple[Tensor, Tensor]]
RATE, CLIP, STEPS = 0.1, 1.0, 10


@dataclass(frozen=True)
class Step:
    """What is seen in a step: each rank's loss, and all ranks' after the update; the gradient's
    norm before it is clipped.
    """

    losses: tuple[float, ...]
    later: float
    norm: float

    @property
    def loss(self) -> float:
        """Of the whole batch."""
        return sum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class Problem:
    """Models and equal shards of each rank, and the loss at which all are to stop."""

    models: list[nn.Module]
    shards: list[Batches]
    enough: float

    def ends(self) -> list[Tensor]:
        """Right weights at the end: from rank 0's at the beginning, another rank's, or their mean.

        To be asked before anybody trains the models.
        """
        mean = copy.deepcopy(self.models[0])
        nn.utils.vector_to_parameters(
            torch.stack([flat(model) for model in self.models]).mean(0), mean.parameters()
        )
        starts = [*copy.deepcopy(self.models), mean]
        for model in starts:
            train_alone(model, self.shards, self.enough)
        return [flat(model) for model in starts]


def train_alone(model: nn.Module, shards: list[Batches], enough: float) -> list[Step]:
    """What the loop means, in one process with the whole batches; its steps."""
    steps: list[Step] = []
    for parts in zip(*shards, strict=True):
        inputs, targets = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
        model.zero_grad()
        errors = (model(inputs) - targets).square()
        errors.mean().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(RATE * torch.as_tensor(p.grad))
            later = F.mse_loss(model(inputs), targets).item()
        own = errors.detach().view(len(shards), -1).mean(1).tolist()
        steps.append(Step(tuple(own), later, norm.item()))
        if steps[-1].loss < enough:
            break
    return steps


def draw_problem(n: int) -> Problem:
    """A problem of `n` ranks in which no slip goes unseen."""
    while True:
        models: list[nn.Module] = [nn.Linear(3, 1) for _ in range(n)]
        target = nn.Linear(3, 1)
        inputs = torch.randn(n, STEPS, 4, 3)
        with torch.no_grad():
            targets = target(inputs) + 0.3 * torch.randn(n, STEPS, 4, 1)
        shards = [list(zip(x, y, strict=True)) for x, y in zip(inputs, targets, strict=True)]
        steps = train_alone(copy.deepcopy(models[0]), shards, 0.0)
        enough = 1.05 * min(step.loss for step in steps)
        if _tells_slips(steps, enough):
            return Problem(models, shards, enough)


def _tells_slips(steps: Sequence[Step], enough: float) -> bool:
    """Whether some gradients are clipped and others not, and who looks at another loss stops apart.

    Other losses are one rank's, the smallest, the largest, and that after the update.
    """
    stop = _first((step.loss for step in steps), enough)
    norms = [step.norm for step in steps[: stop + 1]]
    if not (2 < stop < STEPS - 1 and norms[-1] > 0.05 and min(norms) < 0.8 and max(norms) > 1.25):
        return False
    own = [_first(losses, enough) for losses in zip(*(step.losses for step in steps), strict=True)]
    largest = _first((max(step.losses) for step in steps), enough)
    later = _first((step.later for step in steps), enough)
    return min(own) < stop < max(own) and stop not in (*own, largest, later)


def _first(losses: Iterable[float], enough: float) -> int:
    """The first step whose loss is below the bound; STEPS where none is."""
    return next((step for step, loss in enumerate(losses) if loss < enough), STEPS)


def flat(model: nn.Module) -> Tensor:
    """All weights of a model, one behind the other."""
    return torch.cat([p.detach().flatten() for p in model.parameters()])
