"""Where ranks are and what they wait for, in the words of a message."""

from collections.abc import Mapping
from typing import Any

from notebook_ranks.watch import agreement

Place = Mapping[str, Any]


def names(ranks: Any) -> str:
    """`rank 3`, `ranks 0 and 2`, `ranks 0–5`."""
    found = sorted(ranks)
    if len(found) == 1:
        return f"rank {found[0]}"
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"ranks {found[0]}–{found[-1]}"
    return f"ranks {', '.join(map(str, found[:-1]))} and {found[-1]}"


def line(place: Place) -> str:
    return f", line {place['line']}" if place["line"] else ""


def each(told: Mapping[int, str]) -> list[str]:
    return [f"  {names(who)}: {what}" for what, who in grouped(told).items()]


def where_all(places: Mapping[int, Place]) -> list[str]:
    return each({rank: _where(place) for rank, place in sorted(places.items())})


def _where(place: Place) -> str:
    if place.get("kind") == "died":
        return f"died ({place['message']})"
    if place.get("frozen"):
        return "stopped by a signal (SIGSTOP)"
    doing, call = "working", ""
    if place.get("wait") == "device":
        doing = "waiting"
        call = f" for the device, where {agreement.told(place['pending'])} isn't done"
    elif place["call"] or place.get("wait"):
        tensors = f" of {place['tensors']}" if place["tensors"] else ""
        doing = "waiting" if place.get("wait", "call") else "working"
        call = (f" in {place['call']}{tensors}" if place["call"] else "") + _for(place)
        call += ", which hasn't begun" if place.get("wait") == "set-up" else ""
    elif place.get("kind") == "python":
        doing = f"raised {place['name']}"
    text = f": {place['text']}" if place["text"] else ""
    return f"{doing}{line(place).replace(',', ' at', 1)}{call}{text}"


def _for(place: Place) -> str:
    """Of a message the peer, of a key its name; what a `wait` is for."""
    need = (place.get("needs") or [{"kind": ""}])[0]
    wait = "" if place["call"] and place["call"] in need["kind"] else f" for a {need['kind']}"
    if need["kind"] in ("recv", "send"):
        peer = "any rank" if need["peer"] is None else f"rank {need['peer']}"
        tag = f" (tag {need['tag']})" if need["tag"] else ""
        return f"{wait} {'from' if need['kind'] == 'recv' else 'to'} {peer}{tag}"
    if need["kind"] == "key":
        return f" of {', '.join(map(repr, need['keys']))} in a store"
    unnamed = place["call"] in ("wait", None) and "seq" in need
    return f" for {agreement.told(need)}" if unnamed else ""


def grouped(told: Mapping[int, str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for rank, text in told.items():
        found.setdefault(text, []).append(rank)
    return found
