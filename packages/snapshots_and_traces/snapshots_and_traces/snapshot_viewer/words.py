"""What there is to say about allocations, moments and sizes: the text beside every view."""

from snapshots_and_traces.snapshots.lives import BEFORE, History
from snapshots_and_traces.units import size_text


def shortened(text: str, length: int = 44) -> str:
    """The text, its end left out where it is longer."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def moment_text(history: History, moment: int) -> str:
    """What the event before a moment did."""
    if moment == 0:
        return BEFORE
    event = history.trace.event(moment - 1)
    return f"after event {moment:,}: {event.action}, {size_text(event.size)}"
