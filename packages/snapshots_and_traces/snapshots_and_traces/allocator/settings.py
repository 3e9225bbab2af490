"""The settings of PYTORCH_ALLOC_CONF (once PYTORCH_CUDA_ALLOC_CONF), as numbers.

Without garbage collection: torch does that only under set_per_process_memory_fraction, which no
file tells of.

Source: torch's c10/core/AllocatorConfig.h and its documentation, notes/cuda, torch 2.13.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snapshots_and_traces.allocator.rules import LARGE_SEGMENT, MiB

INTERVALS = 16  # of roundup_power2_divisions: from 1 MiB to 32 GiB, a power of two each


@dataclass(frozen=True)
class Settings:
    """Sizes in bytes."""

    max_split_size: float = math.inf
    max_non_split_rounding: int = LARGE_SEGMENT
    large_segment: int = LARGE_SEGMENT
    roundup_power2_divisions: tuple[int, ...] = (0,) * INTERVALS
    expandable_segments: bool = False

    @classmethod
    def of_snapshot(cls, recorded: Mapping[str, Any]) -> "Settings":
        """Reads `allocator_settings` of a snapshot; torch's own where it has none, or nonsense.

        What torch leaves out of the numbers is in the text of PYTORCH_CUDA_ALLOC_CONF.
        """
        divisions = recorded.get("roundup_power2_divisions")
        divisions = divisions if isinstance(divisions, dict) else {}
        text = recorded.get("PYTORCH_CUDA_ALLOC_CONF")
        text = text if isinstance(text, str) else ""

        def number(raw: Any, default: float) -> Any:
            return raw if isinstance(raw, int | float) and 0 <= raw < math.inf else default

        def only_in_text(name: str) -> int:
            told = re.search(rf"{name}\s*:\s*(\d{{1,9}})", text)
            return max(int(told[1]) * MiB, LARGE_SEGMENT) if told else LARGE_SEGMENT

        return cls(
            max_split_size=number(recorded.get("max_split_size"), math.inf),
            max_non_split_rounding=only_in_text("max_non_split_rounding_mb"),
            large_segment=only_in_text("large_segment_size_mb"),
            roundup_power2_divisions=tuple(
                int(number(divisions.get(str(2**i)), 0)) for i in range(INTERVALS)
            ),
            expandable_segments=recorded.get("expandable_segments") is True,
        )

    def recorded(self) -> dict[str, Any]:
        """The settings as a snapshot has them: `of_snapshot` turned round."""
        limited = self.max_split_size < math.inf
        text = f"max_non_split_rounding_mb:{self.max_non_split_rounding // MiB}"
        divisions = self.roundup_power2_divisions
        return {
            "PYTORCH_CUDA_ALLOC_CONF": f"{text},large_segment_size_mb:{self.large_segment // MiB}",
            "max_split_size": int(self.max_split_size) if limited else -1,
            "expandable_segments": self.expandable_segments,
            "roundup_power2_divisions": {str(2**i): d for i, d in enumerate(divisions)},
        }

    @classmethod
    def parse(cls, text: str) -> "Settings":
        """Reads what PYTORCH_ALLOC_CONF says, "max_split_size_mb:128,…" ("MB" are MiB there).

        Raises: ValueError, with what is known, for another option or a value out of range.
        """
        found: dict[str, Any] = {}
        for name, value in re.findall(r"(\w+)\s*:\s*(\[[^]]*\]|[^,\s]+)", text):
            if name not in READERS:
                raise ValueError(f"{name!r} isn't known here; these are: {', '.join(READERS)}")
            field, read = READERS[name]
            found[field] = read(value)
        return cls(**found)


def _at_least(least_mib: int) -> Any:
    def read(value: str) -> int:
        if not value.isdigit() or int(value) < least_mib:
            raise ValueError(f"whole MiB, at least {least_mib}, are wanted; not {value}")
        return int(value) * MiB

    return read


def _truth(value: str) -> bool:
    if value not in ("True", "False"):
        raise ValueError(f"True or False is wanted, not {value}")
    return value == "True"


def _divisions(value: str) -> tuple[int, ...]:
    """`4`, or `[64:8,256:4,>:1]`: up to 64 MiB 8, at 256 MiB 4, above that 1."""
    if value.isdigit():
        return (int(value),) * INTERVALS
    divisions, last = [0] * INTERVALS, -1
    for start, count in re.findall(r"(>|\d+)\s*:\s*(\d+)", value):
        if start == ">":
            divisions[last + 1 :] = [int(count)] * (INTERVALS - last - 1)
            continue
        index = min(int(start).bit_length() - 1, INTERVALS - 1)
        if last < 0:
            divisions[:index] = [int(count)] * index
        divisions[index], last = int(count), index
    return tuple(divisions)


READERS: dict[str, tuple[str, Any]] = {
    "max_split_size_mb": ("max_split_size", _at_least(21)),
    "max_non_split_rounding_mb": ("max_non_split_rounding", _at_least(21)),
    "large_segment_size_mb": ("large_segment", _at_least(20)),
    "roundup_power2_divisions": ("roundup_power2_divisions", _divisions),
    "expandable_segments": ("expandable_segments", _truth),
}
