"""The course's data: sums of two-digit numbers as text, `12+34=46`, and how well a model adds.

A line is a prompt of six characters and an answer of three (`46` is followed by a line end, `146`
isn't), so every line has nine. Least digit first, the answer of 12+34 reads `64`: each digit then
depends on digits already seen, and a model learns it sooner.
"""

from collections.abc import Iterator

import torch
from torch.nn import functional as F

ALPHABET = "0123456789+=\n"
PROMPT, ANSWER = 6, 3
LINE = PROMPT + ANSWER


class Addition:
    """All 8,100 sums of two-digit numbers, shuffled by `seed`; the last 1,000 are held out.

    `train` and `held_out` are int64 tensors of token ids, a sample in each row: (samples, 9).
    """

    def __init__(self, reverse: bool = False, seed: int = 0, n_held_out: int = 1000) -> None:
        lines = [line(a, b, reverse) for a in range(10, 100) for b in range(10, 100)]
        order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(seed))
        tokens = torch.stack([encode(text) for text in lines])[order]
        self.train, self.held_out = tokens[:-n_held_out], tokens[-n_held_out:]

    def batches(self, size: int, seed: int = 0) -> Iterator[torch.Tensor]:
        """Yields endless batches (size, 9), drawn with replacement from the training samples."""
        generator = torch.Generator().manual_seed(seed)
        while True:
            yield self.train[torch.randint(len(self.train), (size,), generator=generator)]


def line(a: int, b: int, reverse: bool = False) -> str:
    """Writes a sum as text: `12+34=46` and a line end, or all nine characters of `99+99=198`."""
    answer = str(a + b)[::-1] if reverse else str(a + b)
    return f"{a:02d}+{b:02d}={answer.ljust(ANSWER, chr(10))}"


def encode(text: str) -> torch.Tensor:
    """Converts a text to token ids. Raises: ValueError for a character outside the alphabet."""
    return torch.tensor([ALPHABET.index(character) for character in text])


def decode(tokens: torch.Tensor) -> str:
    """Converts token ids to text."""
    return "".join(ALPHABET[int(token)] for token in tokens)


def answer_loss(model: torch.nn.Module, lines: torch.Tensor) -> torch.Tensor:
    """Returns the mean cross-entropy of the answers' characters, given those before; a scalar."""
    logits = model(lines[:, :-1])[:, PROMPT - 1 :]
    return F.cross_entropy(logits.flatten(0, 1).float(), lines[:, PROMPT:].flatten())


def training_step(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, lines: torch.Tensor
) -> torch.Tensor:
    """Does one training step on `lines`; returns the loss, detached from its graph."""
    loss = answer_loss(model, lines)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


@torch.no_grad()
def exact_match(model: torch.nn.Module, lines: torch.Tensor) -> float:
    """Returns the share of samples whose prompt the model completes greedily as they do."""
    written = lines[:, :PROMPT]
    for _ in range(ANSWER):
        next_token = model(written)[:, -1].argmax(-1, keepdim=True)
        written = torch.cat([written, next_token], dim=1)
    return (written == lines).all(dim=1).float().mean().item()
