"""Peak rates of the GPUs people meet, as their makers state them: what data/gpus.toml says."""

import tomllib
from dataclasses import dataclass
from typing import Any

from course_utils.core import files
from course_utils.core.evidence import EvidenceError

FILE = files.DATA / "gpus.toml"


@dataclass(frozen=True)
class Specs:
    """What a GPU can do at most; memory in GB (10⁹ bytes) and GB/s, links with both directions.

    Its rate in a format is an attribute of that name: `specs.bf16`, in dense TFLOP/s (10¹²), None
    where the chip has no unit for it.
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
    """Raises: EvidenceError, which says what is wrong, where the file isn't whole."""
    try:
        rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["gpu"]
        return tuple(Specs(**_with_host_link(row)) for row in rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"data/gpus.toml can't be read: {error}") from None


def _with_host_link(row: dict[str, Any]) -> dict[str, Any]:
    """A board without a link of its own to other GPUs meets them and the host by the same way."""
    same = {"host_link": row["link"], "host_link_gb_per_s": row["link_gb_per_s"]}
    return same | row


GPUS = _read()


def gpu_specs(name: str) -> Specs | None:
    """The specs of a GPU by CUDA's name for it or by our title ("H200"), in any case.

    None for a GPU that isn't in the table: a neighbour's numbers would be a guess
    (`explain_unknown` makes the sentence for it).
    """
    wanted = name.strip().lower()
    for specs in GPUS:
        if wanted in (specs.title.lower(), *(n.lower() for n in specs.names)):
            return specs
    return None


def explain_unknown(name: str) -> str:
    """The sentence for a GPU whose peak rates aren't known here."""
    known = ", ".join(specs.title for specs in GPUS)
    return (
        f"The peak rates of {name!r} aren't in data/gpus.toml, so nothing is compared with its "
        f"peak here. Known: {known}. Add a table there, with its data sheet as the source."
    )
