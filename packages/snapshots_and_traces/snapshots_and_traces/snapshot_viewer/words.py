"""What there is to say about allocations, moments and sizes: the text beside every view."""

from snapshots_and_traces.snapshots.lives import BEFORE, History
from snapshots_and_traces.snapshots.stacks import path
from snapshots_and_traces.units import size_text

STACK_LINES = 24


def shortened(text: str, length: int = 44) -> str:
    """The text, its end left out where it is longer."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def life_text(history: History, allocation: int) -> str:
    """From which event to which, and how long by the clock where the file has times."""
    lives, times = history.allocations, history.trace.time_us
    birth, death = int(lives.birth[allocation]), int(lives.death[allocation])
    begins = BEFORE if birth == 0 else f"event {birth:,}"
    if death >= history.moments:
        return f"from {begins}, never freed"
    text = f"from {begins} to event {death:,}"
    if birth and times[birth - 1]:
        text += f", {(times[death - 1] - times[birth - 1]) / 1000:,.3f} ms"
    return text


def allocation_lines(history: History, allocation: int) -> list[str]:
    """Size, life and who asked, then the call stack, the innermost function first."""
    size = int(history.allocations.size[allocation])
    site = history.site_names[history.sites[allocation]]
    frames = history.trace.stacks[history.stacks[allocation]]
    stack = path(frames)[::-1][:STACK_LINES] if frames else []
    lines = [f"{size_text(size)} ({size:,} B), {life_text(history, allocation)}", site]
    return lines + (stack if stack != [site] else [])


def moment_text(history: History, moment: int) -> str:
    """What the event before a moment did."""
    if moment == 0:
        return BEFORE
    event = history.trace.event(moment - 1)
    return f"after event {moment:,}: {event.action}, {size_text(event.size)}"
