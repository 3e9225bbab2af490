"""Checkers for chapter 14, "Beyond one machine"."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any

from course_utils.chapters.beyond_one_machine import environments, offers
from course_utils.chapters.beyond_one_machine.run_problems import (
    EDGES,
    StoppedRun,
    draw_run,
    edges_of,
)
from course_utils.chapters.beyond_one_machine.stopped_runs import seconds_of
from course_utils.lesson.answers import as_list, as_number, as_numbers, close, shown
from course_utils.lesson.exercises import Wrong, exercise

PLANS = 200


@exercise(
    "beyond_one_machine.who",
    todo="write who(environment): (rank, local_rank, world_size), or a ValueError.",
    hints=(
        "Three launchers, three names each: write them down in a list, in the order in which you "
        "look. Which one of its names says that a launcher was there? Not always its first.",
        "In a loop over the launchers: if its mark is in environment, look for a name of the "
        "three that isn't. Raise, or return the three as ints. After the loop: (0, 0, 1).",
    ),
)
def check_who(who: Callable[..., Any]) -> str:
    """Each kind of environment ten times, then each with one name missing."""
    kinds = environments.RANKS | environments.ALONE
    for kind in 10 * list(kinds):
        _judge_who(who, kind, *environments.draw(kind))
    for kind, names in environments.HALVES.items():
        told, _ = environments.draw(kind)
        if len({_refusal(who, kind, told, name) for name in names}) == 1:
            raise Wrong(f"{kind}: one message, whichever of {' and '.join(names)} is missing")
    return f"{len(kinds)} kinds of environments, and with a name missing"


def _judge_who(who: Callable[..., Any], kind: str, told: dict[str, str], want: Any) -> None:
    given = dict(told)
    try:
        answer = who(given)
    except Exception as error:
        said = f"your code raised {type(error).__name__}: {error}"
        raise Wrong(f"{kind}, {told}: {said}, want {want}") from error
    got = tuple(as_numbers(as_list(answer, "(rank, local_rank, world_size)"), 3))
    if given != told:
        raise Wrong(f"{kind}: the environment was changed")
    if got != want or not all(isinstance(number, int) for number in got):
        raise Wrong(f"{kind}, {told}: want {want}, got {got}")


def _refusal(who: Callable[..., Any], kind: str, told: dict[str, str], missing: str) -> str:
    """What is said of an environment without the name `missing`; Wrong if not by ValueError."""
    half = {name: text for name, text in told.items() if name != missing}
    try:
        outcome = f"got {shown(who(half))}"
    except ValueError as error:
        if re.search(rf"\b{missing}\b", str(error)):
            return str(error)
        outcome = f"got ValueError: {error}"
    except Exception as error:
        outcome = f"got {type(error).__name__}: {error}"
    raise Wrong(f"{kind}, {half}: want a ValueError that names {missing}, {outcome}")


@exercise(
    "beyond_one_machine.kept_seconds",
    todo="write kept_seconds(stops, length, interval, save_seconds, restart_seconds).",
    hints=(
        "Go from stop to stop, and to length at last. After a stop, work begins at "
        "stop + restart_seconds: it may never begin, if the next stop comes before.",
        "Between a beginning and an end, (end − beginning) // (interval + save_seconds) saves are "
        "complete, and at least none. A stop after length ends nothing.",
    ),
)
def check_kept_seconds(kept_seconds: Callable[..., Any]) -> str:
    """Random runs until each edge has come twenty times; those with fewest edges come first."""
    seen, runs = Counter[str](), list[tuple[StoppedRun, set[str]]]()
    while min(seen[edge] for edge in EDGES) < 20:
        run = draw_run()
        edges = edges_of(run)
        if any(seen[edge] < 20 for edge in edges):
            seen.update(edges)
            runs.append((run, edges))
    for run, edges in sorted(runs, key=lambda one: (len(one[1]), len(one[0].stops))):
        want, given = seconds_of("kept", run.pieces()), list(run.stops)
        got = as_number(kept_seconds(given, *astuple(run)[1:]))
        if given != run.stops:
            raise Wrong(f"{run}: the list of stops was changed")
        if got != want:
            named = ", ".join(edge for edge in EDGES if edge in edges)
            raise Wrong(f"{run} ({named}): want {want} seconds, got {got:g}")
    return f"random runs with {len(EDGES)} kinds of edges: exactly the seconds kept"


@exercise(
    "scaling.plan",
    todo="write plan(offer): (local_batch, learning_rate, efficiency) for its 8 GPUs.",
    hints=(
        "The batch: whole samples beside the state in memory, and n times as many may not be "
        "more than largest_batch. Both bounds hold: take the smaller.",
        "Adam's rate grows as the square root of the global batch, n·local, over base_batch.",
        "C = local·sample_flops/flops_per_s. A ring costs 2(n−1)·(alpha + beta·bytes/n) for "
        "each bucket of gradient_bytes/buckets. The step takes C and what is exposed.",
    ),
)
def check_plan(plan: Callable[[offers.Offer], Any]) -> str:
    """Random offers, until each kind of bound has come ten times; and each with nothing left."""
    seen, done = Counter[str](), 0
    while done < PLANS or min(seen.values()) < 10 or len(seen) < 4:
        offer = offers.draw_offer()
        for one in (offer, _filled(offer)):
            _judge_plan(one, plan(one))
        seen.update(offers.kinds_of(offer))
        done += 1
    return "random clusters of 8 GPUs: batch, learning rate, and efficiency within 5%"


def _filled(offer: offers.Offer) -> offers.Offer:
    """The same offer where whole samples fill the memory, and whole shards the largest batch."""
    rest = (offer.memory_bytes - offer.state_bytes) % offer.sample_bytes
    most = offer.largest_batch - offer.largest_batch % offer.n
    return replace(offer, memory_bytes=offer.memory_bytes - rest, largest_batch=most)


def _judge_plan(offer: offers.Offer, answer: Any) -> None:
    want = "(local_batch, learning_rate, efficiency)"
    local, rate, found = as_numbers(as_list(answer, want), 3)
    right_local, right_rate, right = offers.right_plan(offer)
    if local != right_local:
        raise Wrong(f"{offer}: a local batch of {local}, want {right_local}")
    if not close(rate, right_rate):
        raise Wrong(f"{offer}: a learning rate of {rate:.4g}, want {right_rate:.4g}")
    if not close(found, right, rel_tol=0.05):
        raise Wrong(f"{offer}: an efficiency of {found:.3f}, want {right:.3f} within 5%")
