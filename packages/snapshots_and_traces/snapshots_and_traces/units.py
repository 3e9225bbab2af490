"""Bytes, seconds and names in words."""

SECONDS = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def seconds_text(seconds: float) -> str:
    """`12.3 ms`: three digits, in the unit that keeps them readable."""
    size, unit = next(((s, u) for s, u in SECONDS if abs(seconds) >= 0.9995 * s), SECONDS[-1])
    return f"{seconds / size:.3g} {unit}"


def size_text(size: float) -> str:
    """Bytes in the largest unit of which there is one: 1.50 GiB."""
    for unit, name in BYTES:
        if size >= unit:
            return f"{size / unit:,.{2 if size < 10 * unit else 1}f} {name}"
    return f"{size:,.0f} B"


def unit_of(largest: float) -> tuple[int, str]:
    """The unit, in bytes and by name, in which the largest of some sizes is 1 or more."""
    return next(((n, name) for n, name in BYTES if largest >= n), (1, "B"))


def shortened(text: str, length: int = 44) -> str:
    """The text, its end left out where it is longer."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
