"""Ten programs and more that train on the queue, each slow for a reason of its own, or for none."""

import itertools
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import pstdev
from tempfile import TemporaryFile
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

from course_utils.workloads.addition import Addition, answer_loss
from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.resnet import ResNet18
from tools.diagnosed_runs.messages import Messages
from tools.diagnosed_runs.queue_device import Device, move

Step = Callable[[], Any]


@dataclass(frozen=True)
class Program:
    """What slows it (`cause`), in words what it does, and how it is built.

    `build(device, messages)` returns a step. With `lengths` it has messages to send, of these.
    """

    cause: str
    what: str
    build: Callable[[Device, Any], Step]
    shown: bool = False
    steps: int = 3
    lengths: tuple[int, ...] = ()


def gpt(width: int, layers: int = 2) -> GPT:
    return GPT(replace(GPTConfig.tiny(), width=width, layers=layers))


def mlp(width: int, layers: int) -> nn.Sequential:
    """Linear layers of one width with ReLUs between."""
    stack = [layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*stack[:-1])


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01)


def train(
    device: Device,
    model: nn.Module,
    batches: Iterator[Any],
    loss_of: Callable[[nn.Module, Any], Tensor],
    optimizer: Callable[[nn.Module], torch.optim.Optimizer] = sgd,
    before: Callable[[nn.Module], Any] = lambda model: None,
    after: Callable[[Tensor], Any] = lambda loss: None,
) -> Step:
    """A step of training on the queue; `before` sees the gradients, `after` the loss."""
    model = move(model, device)
    made = optimizer(model)

    def step() -> None:
        batch = device.put(first(next(batches)))
        made.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        before(model)
        made.step()
        after(loss.detach())

    return step


def first(batch: Any) -> Tensor:
    return batch[0] if isinstance(batch, list) else batch


def squares(model: nn.Module, x: Tensor) -> Tensor:
    """How far an MLP's answers are from zero: as good a loss as any where only time counts."""
    return model(x).square().mean()


def classes(model: nn.Module, images: Tensor) -> Tensor:
    return F.log_softmax(model(images), -1)[:, 0].neg().mean()


def lines(size: int) -> Iterator[Tensor]:
    """Batches of additions that are in memory already."""
    return Addition().batches(size)


def numbers(*shape: int) -> Iterator[Tensor]:
    """One batch, again and again."""
    return itertools.repeat(torch.randn(*shape))


def loaded(data: Dataset[Tensor], size: int, workers: int = 0) -> Iterator[Tensor]:
    """A DataLoader's batches; the first epoch never ends."""
    return iter(DataLoader(data, batch_size=size, num_workers=workers))


class Packed(Dataset[Tensor]):
    """Samples that are unpacked by zlib each time they are asked for, and made into numbers."""

    def __init__(self, sample: Tensor, padding: int, length: int = 100_000) -> None:
        self.packed = zlib.compress(
            sample.numpy().tobytes()
            + bytes(torch.randint(0, 64, (padding,), dtype=torch.uint8).tolist())
        )
        self.shape, self.length, self.dtype = sample.shape, length, sample.dtype

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        unpacked = bytearray(zlib.decompress(self.packed))
        return torch.frombuffer(unpacked, dtype=self.dtype, count=self.shape.numel()).view(
            self.shape
        )


def slow_loader(device: Device, _: Any) -> Step:
    batches = loaded(Packed(Addition().train[0], 800_000), 32)
    return train(device, gpt(64), batches, answer_loss)


def convolutions() -> nn.Sequential:
    """Three convolutions, each with a batch norm, and a head for ten classes."""
    sizes = ((3, 16), (16, 32), (32, 64))
    layers = [
        layer
        for before, after in sizes
        for layer in (nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU())
    ]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))


def slow_images(device: Device, _: Any) -> Step:
    batches = loaded(Packed(torch.randn(3, 32, 32), 2_000_000), 16, workers=1)
    return train(device, convolutions(), batches, classes)


def slow_and_logged(device: Device, _: Any) -> Step:
    batches = loaded(Packed(torch.randn(256), 400_000), 32)
    return train(device, mlp(256, 4), batches, squares, after=Tensor.item)


def looked_at(
    model: nn.Module, layer: Callable[[Tensor], Any], gradient: Callable[[Tensor], Any]
) -> None:
    """Looks at what each layer gives, and at each gradient, as soon as it is launched."""
    for module in model.modules():
        if not list(module.children()):
            module.register_forward_hook(lambda module, given, out: layer(out))
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda parameter: gradient(parameter.grad))


def logged_layers(device: Device, _: Any) -> Step:
    """A line of JSON for each layer's mean and each gradient's norm, written at once."""
    log = TemporaryFile("w")  # noqa: SIM115

    def write(what: str, number: Tensor) -> None:
        print(json.dumps({what: number.item(), "at": str(datetime.now())}), file=log, flush=True)

    model = gpt(64)
    step = train(device, model, lines(64), answer_loss)
    looked_at(
        model,
        lambda out: write("mean", out.detach().mean()),
        lambda gradient: write("norm", gradient.norm()),
    )
    return step


def python_statistics(device: Device, _: Any) -> Step:
    """The spread of every fourth answer's numbers, in Python, before the next step is launched."""
    answers: list[Tensor] = []
    spreads: list[float] = []

    def loss_of(model: nn.Module, x: Tensor) -> Tensor:
        answer = model(x)
        answers[:] = [answer.detach()]
        return answer.square().mean()

    def spread(_: Tensor) -> None:
        spreads.extend(map(pstdev, device.get(answers[0])[::4].tolist()))

    return train(device, mlp(256, 4), numbers(512, 256), loss_of, after=spread)


def tiny_batches(device: Device, _: Any) -> Step:
    return train(device, gpt(64), lines(2), answer_loss)


def many_layers(device: Device, _: Any) -> Step:
    def adam(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(model.parameters(), foreach=False)

    batches = loaded(TensorDataset(torch.randn(200, 32)), 4)
    return train(device, mlp(32, 12), batches, squares, adam, after=Tensor.item)


def large_batches(device: Device, _: Any) -> Step:
    return train(device, gpt(128), lines(512), answer_loss)


def images(device: Device, _: Any) -> Step:
    batches = loaded(Packed(torch.randn(3, 64, 64), 20_000), 16)
    return train(device, ResNet18(10), batches, classes, after=Tensor.item)


def lengths_of(model: nn.Module) -> tuple[int, ...]:
    return tuple(one.numel() for one in reversed(list(model.parameters())))


def sent_at_the_end(model: nn.Module, batches: Iterator[Any], loss_of: Any) -> Any:
    """A message for each parameter, when all gradients are there."""

    def build(device: Device, messages: Messages) -> Step:
        def add(model: nn.Module) -> None:
            for parameter in reversed(list(model.parameters())):
                messages.add(parameter.grad)
            messages.arrive()

        return train(device, model, batches, loss_of, before=add)

    return build


def large_messages(device: Device, messages: Messages) -> Step:
    return sent_at_the_end(mlp(1024, 3), numbers(4, 1024), squares)(device, messages)


def many_messages(device: Device, messages: Messages) -> Step:
    return sent_at_the_end(gpt(256), lines(8), answer_loss)(device, messages)


def hidden_messages(device: Device, messages: Messages) -> Step:
    """The weights are averaged with the other process's while the next gradients are computed."""
    sent: list[Tensor] = []

    def loss_of(model: nn.Module, x: Tensor) -> Tensor:
        sent[:] = [parameter.detach().clone() for parameter in model.parameters()]
        for one in sent:
            messages.add(one)
        return squares(model, x)

    def average(model: nn.Module) -> None:
        messages.arrive()
        for parameter, total in zip(model.parameters(), sent, strict=True):
            parameter.detach().lerp_(total, 0.5)

    return train(device, mlp(512, 5), numbers(640, 512), loss_of, before=average)


PROGRAMS: dict[str, Program] = {
    "slow-loader": Program(
        "input-bound", "GPT; a DataLoader without workers unpacks each line by zlib", slow_loader,
        shown=True,
    ),
    "logged-layers": Program(
        "sync-bound", "GPT; each layer's mean and each gradient's norm is written to a log",
        logged_layers, shown=True, steps=1,
    ),
    "tiny-batches": Program(
        "launch-bound", "GPT on two lines at a time", tiny_batches, shown=True, steps=2
    ),
    "sent-at-the-end": Program(
        "communication-bound", "three layers of 1024; all gradients are sent at the end",
        large_messages, shown=True, lengths=lengths_of(mlp(1024, 3)),
    ),
    "large-batches": Program(
        "healthy", "GPT on 512 lines at a time", large_batches, shown=True, steps=2
    ),
    "slow-images": Program(
        "input-bound", "three convolutions; one worker unpacks images by zlib", slow_images
    ),
    "slow-and-logged": Program(
        "input-bound", "an MLP; zlib in the DataLoader, and the loss is read each step",
        slow_and_logged, steps=4,
    ),
    "python-statistics": Program(
        "sync-bound", "an MLP; every fourth answer's spread is computed by Python's statistics",
        python_statistics,
    ),
    "many-layers": Program(
        "launch-bound", "12 narrow layers under an Adam that goes from parameter to parameter",
        many_layers, steps=2,
    ),
    "many-messages": Program(
        "communication-bound", "GPT; a message for each parameter, when all gradients are there",
        many_messages, lengths=lengths_of(gpt(256)),
    ),
    "images": Program(
        "healthy", "ResNet-18; images are unpacked and the loss is read each step, which is long",
        images, steps=2,
    ),
    "hidden-messages": Program(
        "healthy", "an MLP; its weights are sent while the next gradients are computed",
        hidden_messages, lengths=tuple(one.numel() for one in mlp(512, 5).parameters()),
    ),
}  # fmt: skip
