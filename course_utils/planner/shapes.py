"""Transformers as the planner sees them: their shapes, what data/model_shapes.toml says."""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Self

from course_utils.core import files
from course_utils.core.evidence import EvidenceError
from course_utils.workloads.gpt import GPTConfig

FILE = files.DATA / "model_shapes.toml"


@dataclass(frozen=True)
class Shape:
    """A transformer's sizes, in numbers; the fields are explained at the head of the file."""

    title: str
    layers: int
    width: int
    heads: int
    hidden: int
    vocabulary: int
    context: int
    kv_heads: int = 0
    gated: bool = False
    norm: str = "layer"
    tied: bool = True
    positions: bool = True
    biases: bool = True
    written_out: str = ""
    labels: int = 0
    more_parameters: int = 0
    source: str = ""

    @classmethod
    def of_gpt(cls, config: GPTConfig) -> Self:
        """The course's GPT of that configuration."""
        return cls("the course's GPT", hidden=4 * config.width, **vars(config))

    @property
    def kv_width(self) -> int:
        """The width of the keys, and of the values."""
        return self.width * (self.kv_heads or self.heads) // self.heads

    @property
    def products(self) -> list[tuple[int, int]]:
        """The sizes (out, in) of a block's matrices, in the order in which they are used."""
        w, h, kv = self.width, self.hidden, self.kv_width
        if self.gated:
            return [(w, w), (kv, w), (kv, w), (w, w), (h, w), (h, w), (w, h)]
        return [(w + 2 * kv, w), (w, w), (h, w), (w, h)]

    @property
    def block_matrices(self) -> int:
        """Numbers in the matrices of one block."""
        return sum(out * into for out, into in self.products)

    @property
    def block_parameters(self) -> int:
        """All that one block learns: matrices, biases and two norms."""
        biases = sum(out for out, _ in self.products) if self.biases else 0
        return self.block_matrices + biases + 2 * self.norm_parameters

    @property
    def norm_parameters(self) -> int:
        return self.width * (2 if self.norm == "layer" else 1)

    @property
    def head(self) -> int:
        """Numbers in the matrix of the output over the vocabulary; 0 for a classifier."""
        return 0 if self.labels else self.vocabulary * self.width

    @property
    def embeddings(self) -> int:
        """Numbers outside the blocks: tokens, positions, an output of its own, a norm."""
        tokens = self.vocabulary * self.width * (1 if self.tied else 2)
        places = self.context * self.width if self.positions else 0
        return tokens + places + self.norm_parameters + self.more_parameters

    @property
    def parameters(self) -> int:
        """The number of parameters of the model."""
        return self.embeddings + self.layers * self.block_parameters


@cache
def shapes() -> dict[str, Shape]:
    """The shapes by title. Raises: EvidenceError where the file isn't whole."""
    try:
        rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["shape"]
        return {row["title"]: Shape(**row) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"data/model_shapes.toml can't be read: {error}") from None


def shape(title: str) -> Shape:
    """The shape of that title; ValueError, with the titles there are, for another."""
    if title not in shapes():
        raise ValueError(f"no model {title!r}; there are {', '.join(shapes())}")
    return shapes()[title]
