"""What a training step asks of an allocator, made up from a transformer's shapes, no GPU needed.

The order is that of eager torch with Adam: parameters, then for every step the activations kept
for the backward pass, temporaries beside them, gradients while the activations go, and the
optimiser's states at the first step. Sizes in bytes, float32.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.memory.what_if import Program, Step

BYTES = 4


@dataclass(frozen=True)
class Shape:
    """A small transformer; every step has a batch of another length, up to `tokens`."""

    layers: int = 4
    width: int = 512
    tokens: int = 2048
    vocabulary: int = 2000
    steps: int = 3


def training_program(shape: Shape | None = None, seed: int = 0) -> Program:
    """The allocations and frees of `shape.steps` training steps, the same for the same seed."""
    return Program(tuple(_Writer(shape or Shape(), seed).steps()), title="a made-up training run")


class _Writer:
    def __init__(self, shape: Shape, seed: int) -> None:
        self.shape, self.random, self.next = shape, random.Random(seed), 0

    def steps(self) -> Iterator[Step]:
        weights = [size for _ in range(self.shape.layers) for size in self.weights()]
        weights += [self.shape.vocabulary * self.shape.width]
        for size in weights:
            yield self.alloc(size)
        for number in range(self.shape.steps):
            tokens = self.random.randint(self.shape.tokens // 2, self.shape.tokens)
            yield from self.train(tokens, weights, first=number == 0)

    def weights(self) -> list[int]:
        """Elements of one layer's parameters: attention, MLP, biases, two norms."""
        w = self.shape.width
        return [w, w, 3 * w * w, 3 * w, w * w, w, w, w, 4 * w * w, 4 * w, 4 * w * w, w]

    def train(self, tokens: int, weights: list[int], first: bool) -> Iterator[Step]:
        batch = self.alloc(2 * tokens)
        yield batch
        kept: list[list[Step]] = []
        for _ in range(self.shape.layers):
            kept.append([])
            yield from self.forward(tokens, kept[-1])
        logits, losses = self.alloc(tokens * self.shape.vocabulary), self.alloc(1)
        yield from (logits, losses)
        gradients: list[Step] = []
        slope = self.alloc(tokens * self.shape.vocabulary)
        yield from (slope, _free(logits))
        flowing = self.alloc(tokens * self.shape.width)
        yield from (flowing, _free(slope))
        for layer in reversed(kept):
            yield from self.backward(tokens, layer, gradients)
        yield from (_free(flowing), _free(batch))
        yield from self.adam(weights, first)
        yield from map(_free, gradients)
        yield _free(losses)

    def forward(self, tokens: int, kept: list[Step]) -> Iterator[Step]:
        """One layer: what is kept for the backward pass, and temporaries that go at once."""
        w = self.shape.width
        for elements, is_kept in (
            (tokens, True), (tokens, True), (tokens * w, True), (3 * tokens * w, True),
            (tokens * w, False), (tokens * w, True), (tokens * w // 4, True), (tokens * w, True),
            (4 * tokens * w, True), (4 * tokens * w, False), (4 * tokens * w, True),
            (tokens * w, False),
        ):  # fmt: skip
            made = self.alloc(elements)
            yield made
            if is_kept:
                kept.append(made)
            else:
                yield _free(made)

    def backward(self, tokens: int, kept: list[Step], gradients: list[Step]) -> Iterator[Step]:
        """One layer: each kept activation goes once its gradients are there."""
        sizes = self.weights()
        for activation in reversed(kept):
            flowing = self.alloc(activation.size // BYTES)
            yield flowing
            if sizes:
                gradients.append(self.alloc(sizes.pop()))
                yield gradients[-1]
            yield from (_free(activation), _free(flowing))
        for size in sizes:
            gradients.append(self.alloc(size))
            yield gradients[-1]

    def adam(self, weights: list[int], first: bool) -> Iterator[Step]:
        """States at the first step; then a temporary as large as each parameter, all at once."""
        for size in weights if first else ():
            yield self.alloc(size)
            yield self.alloc(size)
        temporaries = [self.alloc(size) for size in weights]
        yield from temporaries
        yield from map(_free, temporaries)

    def alloc(self, elements: int) -> Step:
        self.next += 1
        return Step("alloc", self.next, max(1, elements) * BYTES)


def _free(step: Step) -> Step:
    return Step("free", step.key)
