"""Peak rates of common GPUs as their makers state them, from data/gpus.toml."""

import tomllib
from dataclasses import dataclass
from typing import Any

from course_utils.core import files
from course_utils.core.evidence import EvidenceError

FILE = files.DATA / "gpus.toml"


@dataclass(frozen=True)
class Specs:
    """Peak rates of a GPU: memory in GB (10⁹ bytes) and GB/s, links as the sum of both directions.

    `specs.bf16` is the dense TFLOP/s (10¹²) in that format, and so for every format; None if the
    GPU has no hardware for it.
    """

    title: str
    names: list[str]  # exactly as CUDA reports the device
    dense_tflop_per_s: dict[str, float]
    memory_gb: float
    memory_gb_per_s: float
    link: str
    link_gb_per_s: float
    host_link: str
    host_link_gb_per_s: float
    source: str

    def __getattr__(self, name: str) -> Any:
        if any(name in specs.dense_tflop_per_s for specs in GPUS):
            return self.dense_tflop_per_s.get(name)
        raise AttributeError(f"No GPU of data/gpus.toml has a {name!r}")


def _read() -> tuple[Specs, ...]:
    """Reads the table. Raises: EvidenceError, which names the fault, if the file is broken."""
    try:
        rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["gpu"]
        return tuple(Specs(**_with_host_link(row)) for row in rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"data/gpus.toml can't be read: {error}") from None


def _with_host_link(row: dict[str, Any]) -> dict[str, Any]:
    """Fills in the host link: a board without NVLink reaches GPUs and host by the same bus."""
    same = {"host_link": row["link"], "host_link_gb_per_s": row["link_gb_per_s"]}
    return same | row


GPUS = _read()


def gpu_specs(name: str) -> Specs | None:
    """The specs of a GPU by CUDA's name for it or by our title ("H200"); case doesn't matter.

    Returns None for a GPU that isn't in the table; `explain_unknown` makes a sentence for it.
    """
    wanted = name.strip().lower()
    for specs in GPUS:
        if wanted in (specs.title.lower(), *(n.lower() for n in specs.names)):
            return specs
    return None


def explain_unknown(name: str) -> str:
    """A sentence for the reader whose GPU isn't in the table, with what to do."""
    known = ", ".join(specs.title for specs in GPUS)
    return (
        f"The peak rates of {name!r} aren't in data/gpus.toml, so nothing is compared with its "
        f"peak here. Known: {known}. Add a table there, with its data sheet as the source."
    )
