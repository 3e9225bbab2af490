"""Whether a recorded number is possible: no faster than the data sheet, no larger than the GPU."""

import math
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from typing import Any

from course_utils.core.evidence import Row
from course_utils.core.gpus import Specs, explain_unknown, gpu_specs

CLOCKS = 1.02  # a data sheet's peak is that of one clock; a board may boost a little past it
GEFORCE_CLOCKS = 1.25  # those boost past the sheet's clock (RTX 3090: 1.70 GHz) up to 2.1 GHz
LARGE = 2**29  # bytes of a working set of which L2 (up to 126 MB) keeps a quarter at most
KEPT_IN_L2 = 1.25  # and so its bytes may come by that much faster than from memory
SIZES = {"bytes": 1, "mb": 10**6, "mib": 2**20, "gb": 10**9, "gib": 2**30}
UNBOUNDED = (math.inf, "")


def _peak(specs: Specs, row: Row) -> tuple[float, str]:
    """FLOP/s of the row's format; of the fastest where it has none or the GPU no unit for it."""
    name = str(row.get("format", ""))
    rates = specs.dense_tflop_per_s
    named = rates.get(name.lower().partition(" ")[0])
    margin = GEFORCE_CLOCKS if "GeForce" in specs.names[0] else CLOCKS
    of = f"dense peak in {name}" if named else "highest dense peak"
    return (named or max(rates.values())) * 1e12 * margin, f"the data sheet's {of}"


def _memory(specs: Specs, row: Row) -> tuple[float, str]:
    """Bytes/s; a working set that L2 may hold has no bound."""
    if numbers(row).get("n_bytes", LARGE) < LARGE:
        return UNBOUNDED
    return specs.memory_gb_per_s * 1e9 * KEPT_IN_L2, "what its memory delivers"


def _to_host(specs: Specs, _row: Row) -> tuple[float, str]:
    most = specs.host_link_gb_per_s / 2 * 1e9
    return most, f"one way of {specs.host_link}, its link to the host"


def _to_peer(specs: Specs, _row: Row) -> tuple[float, str]:
    """Bytes/s; PCIe boards may have a bridge that one board's data sheet doesn't mention."""
    if not specs.link.startswith("NVLink"):
        return UNBOUNDED
    return specs.link_gb_per_s / 2 * 1e9, f"one way of {specs.link}, its link to other GPUs"


# In rows of these experiments with a text that matches the pattern: a rate (a column, or two with
# a `/` between), what it is multiplied by to be in FLOP/s or bytes/s, and the most that it can be.
LIMITS: tuple[tuple[str, str, str, float, Callable[[Specs, Row], tuple[float, str]]], ...] = (
    ("*", "", "flop_per_s", 1, _peak),
    ("*", "", "tflop_per_s", 1e12, _peak),
    ("*/roofline_points", "", "flops/seconds", 1, _peak),
    ("*/roofline_points", "", "n_bytes/seconds", 1, _memory),
    ("*/stream", r"\(GPU\)", "gb_per_s", 1e9, _memory),
    ("*/host_device_copies", "host to device|device to host", "gb_per_s", 1e9, _to_host),
    # a copy's bytes are counted once there, and are both read and written
    ("*/host_device_copies", "within a device", "gb_per_s", 2e9, _memory),
    ("*/host_device_copies", "device to device", "gb_per_s", 1e9, _to_peer),
    ("02_*/copies", "", "gb_per_s", 1e9, _to_host),
    # every byte leaves its GPU once, whatever the algorithm
    ("*/nccl_allreduce", "", "n_bytes/seconds", 1, _to_peer),
)


def too_fast(content: dict[str, Any]) -> Iterator[str]:
    """A sentence for each row of a recording that is faster than its GPU's data sheet allows.

    Without a GPU, or with one whose data sheet isn't known, there is none.
    """
    specs = _specs(content)
    if specs is None:
        return
    experiment = f"{content['chapter']}/{content['experiment']}"
    limits = [limit for limit in LIMITS if fnmatch(experiment, limit[0])]
    for place, row in enumerate(content["rows"], 1):
        texts = "\n".join(value for value in row.values() if isinstance(value, str))
        for _, pattern, rate, unit, limit in limits:
            found = _rate(row, rate)
            most, what = limit(specs, row)
            if found * unit > most and re.search(pattern, texts):
                yield (
                    f"row {place}: {rate} {found:.4g} is above the {most / unit:.4g} of a "
                    f"{specs.title} ({what}, with what is allowed for clocks and caches)"
                )


def _rate(row: Row, rate: str) -> float:
    """A column, or the quotient of two; minus infinity where the row hasn't got them."""
    above, _, below = rate.partition("/")
    found = numbers(row) | {"": 1}
    if above not in found or below not in found:
        return -math.inf
    return found[above] / found[below] if found[below] else math.inf


def too_large(content: dict[str, Any]) -> Iterator[str]:
    """A sentence for each number of bytes that is more than the recording's GPU has.

    `n_bytes`, the size of a table or a message, isn't memory of a GPU and is left out.
    """
    most = max((gpu["memory_bytes"] for gpu in content["machine"]["gpus"]), default=math.inf)
    for place, row in enumerate(content["rows"], 1):
        for column, value in numbers(row).items():
            size = SIZES.get(column.rpartition("_")[2])
            if size and column != "n_bytes" and value * size > most:
                yield f"row {place}: {column} {value:,} is more than the GPU's {most:,} bytes"


def not_judged(content: dict[str, Any]) -> str | None:
    """The sentence for a GPU whose rates can't be judged, as its data sheet isn't known."""
    gpus = content["machine"]["gpus"]
    return explain_unknown(gpus[0]["name"]) if gpus and not _specs(content) else None


def numbers(row: Row) -> dict[str, float]:
    """The columns of a row that hold numbers; True and False are none."""
    found = {column: value for column, value in row.items() if isinstance(value, int | float)}
    return {column: value for column, value in found.items() if not isinstance(value, bool)}


def _specs(content: dict[str, Any]) -> Specs | None:
    gpus = content["machine"]["gpus"]
    return gpu_specs(gpus[0]["name"]) if gpus else None
