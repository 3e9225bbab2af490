"""What the word after a number makes of it: a factor, and the kind of quantity that it is."""

import re

SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
SUFFIXES = {"K": 1e3, "k": 1e3, "M": 1e6, "B": 1e9}
_PREFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_TIMES = {"ns": 1e-9, "µs": 1e-6, "μs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_SPOKEN_TIMES = {
    "nanosecond": 1e-9,
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "week": 604800.0,
}


def _table() -> dict[str, tuple[float, str]]:
    """Each unit's factor and kind: `GB` is 10⁹ of kind "bytes"."""
    units = {name: (factor, "time") for name, factor in _TIMES.items()}
    for name, factor in _SPOKEN_TIMES.items():
        units |= {name: (factor, "time"), name + "s": (factor, "time")}
    for prefix, factor in ({"": 1.0} | _PREFIXES | _BINARY).items():
        units[f"{prefix}B"] = (factor, "bytes")
        units[f"{prefix}B/s"] = (factor, "bytes/time")
        units[f"{prefix}bit/s"] = (factor / 8, "bytes/time")
        units[f"{prefix}FLOP/s"] = (factor, "flop/time")
        units[f"{prefix}FLOP"] = units[f"{prefix}FLOPs"] = (factor, "flop")
        units[f"{prefix}Hz"] = (factor, "1/time")
    units |= {"byte": (1.0, "bytes"), "bytes": (1.0, "bytes")}
    units |= {"%": (0.01, "share"), "percent": (0.01, "share"), "dB": (1.0, "dB")}
    units |= {"cm": (0.01, "length"), "×": (1.0, "ratio"), "times": (1.0, "ratio")}
    return units


UNITS = _table()
_NAMES = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True))
UNIT = re.compile(rf"[ \u00a0]?({_NAMES})(?![\w/])(?<!×)|(×)(?! ?[A-Z\d])")
SCALE = re.compile(rf"[ \u00a0]({'|'.join(SCALES)})\b")

COLUMNS = {
    "tflop_per_s": (1e12, "flop/time"),
    "flop_per_s": (1.0, "flop/time"),
    "gb_per_s": (1e9, "bytes/time"),
    "bytes_per_s": (1.0, "bytes/time"),
    "seconds": (1.0, "time"),
    "days": (86400.0, "time"),
    "hours": (3600.0, "time"),
    "ns": (1e-9, "time"),
    "us": (1e-6, "time"),
    "ms": (1e-3, "time"),
    "mib": (2**20, "bytes"),
    "gb": (1e9, "bytes"),
    "bytes": (1.0, "bytes"),
    "percent": (0.01, "share"),
}


def of_column(name: str) -> tuple[float, str | None]:
    """What a column's name says of its numbers: `link_gb_per_s` holds 10⁹ bytes a second."""
    for ending, unit in COLUMNS.items():
        if name == ending or name.endswith("_" + ending):
            return unit
    return 1.0, None
