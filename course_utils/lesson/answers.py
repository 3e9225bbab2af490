"""Compares a reader's answer with a reference, as plain numbers and lists of whichever library.

`against` compares case by case. A checker that compares by itself uses the functions below. `error
> bound` lets NaN pass, since no comparison with NaN is true: use `close` instead.
"""

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import partial
from itertools import islice
from numbers import Real
from typing import Any

from course_utils.lesson.exercises import Wrong

MOST = 1_000_000  # entries; a generator may never end
SHOWN, MOST_SHOWN = 60, 300  # characters of an answer in a message, and beside the right one
SHORT = 100  # characters of a list that is shown as a whole


def against(
    answer: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Iterable[tuple[Any, ...]],
    rel_tol: float = 1e-6,
    abs_tol: float = 0.0,
    why: Callable[..., str] = lambda *case: "",
) -> None:
    """Calls an answer with each case's arguments and requires the reference's result.

    An int, text or None must be equal, a float `close`; tuples, lists, sets and dictionaries are
    compared entry by entry. Cases run from the shortest to the longest, so that the first failure
    is the easiest to follow; `why(*case)` ends its message.
    Raises: Wrong for the first failure, or for an answer that changes its arguments.
    """
    names = list(inspect.signature(reference).parameters)
    for case in sorted(cases, key=lambda case: len(repr(case))):
        want, given = reference(*copy.deepcopy(case)), copy.deepcopy(case)
        pairs = zip(names, case, strict=True)
        where = f"for {', '.join(f'{name}={_written(value)}' for name, value in pairs)}"
        try:
            got = answer(*given)
            compare(got, want, where, rel_tol, abs_tol, partial(why, *case))
        except Wrong:
            raise
        except Exception as error:
            error.add_note(where)
            raise
        if repr(given) != repr(case):
            raise Wrong(f"{where}: your function changed what it was given")


def compare(
    answer: Any,
    want: Any,
    where: str,
    rel_tol: float = 1e-6,
    abs_tol: float = 0.0,
    why: Callable[[], str] = str,
    picture: Any = None,
) -> None:
    """Requires an answer to equal `want`, a tensor or anything that `against` takes.

    For a long list, the message names the first entry that differs.
    Raises: Wrong, with a message that begins with `where` and ends with `why()`, and `picture`.
    """
    want = _plain(want)
    got = like(answer, want)
    if _same(got, want, rel_tol, abs_tol):
        return
    places = []
    while len(_written(want)) > SHORT and _match(got, want):
        pairs = enumerate(zip(got, want, strict=True))
        place = next(at for at, pair in pairs if not _same(*pair, rel_tol, abs_tol))
        places.append(place)
        got, want = got[place], want[place]
    where += f", entry {places}" if places else ""
    gave = f"you gave {_written(got):.{MOST_SHOWN}}; it is {_written(want):.{MOST_SHOWN}}"
    raise Wrong(f"{where}: {gave}{why()}", picture)


def like(answer: Any, want: Any) -> Any:
    """Converts an answer to Python's numbers and containers, with the types that `want` has.

    Leaves other types unchanged. Raises: Wrong if a number, list or dictionary is wanted and the
    answer is none.
    """
    if answer is None or want is None:
        return answer
    if isinstance(want, str | bool):
        return type(want)(answer)
    if isinstance(want, Mapping):
        if not isinstance(answer, Mapping):
            raise Wrong(f"you return {shown(answer)}, want a dictionary")
        return {key: like(one, want.get(key)) for key, one in answer.items()}
    if isinstance(want, set):
        return set(map(str, as_list(answer, "a set")))
    if not isinstance(want, tuple | list):
        return as_number(answer)
    found = as_list(answer, f"{len(want)} values")
    if len(found) != len(want):
        return found
    return type(want)(like(one, wanted) for one, wanted in zip(found, want, strict=True))


def _same(got: Any, want: Any, *tolerances: float) -> bool:
    if got is None or want is None:
        return got is want
    if isinstance(want, float) and isinstance(got, int | float):
        return close(got, want, *tolerances)
    if _match(got, want):
        return all(_same(one, other, *tolerances) for one, other in zip(got, want, strict=True))
    return bool(got == want)


def _match(got: Any, want: Any) -> bool:
    """True if both are lists or tuples of the same length."""
    both = isinstance(got, tuple | list) and isinstance(want, tuple | list)
    return both and len(got) == len(want)


def _written(value: Any) -> str:
    """Formats a value for a message: floats to six digits, named objects by their name."""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    if type(value) in (tuple, list):
        inside = ", ".join(map(_written, value))
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(name := getattr(value, "name", None), str):
        return name
    if is_dataclass(value):
        fields = ", ".join(f"{name}={_written(one)}" for name, one in vars(value).items())
        return f"{type(value).__name__}({fields})"
    return repr(value)


def as_number(value: Any) -> float:
    """Converts a number, or an array of one entry, to Python's; an int stays an int.

    Accepts infinity, but neither True nor False. Raises: Wrong for anything else, and for NaN.
    """
    plain = _plain(value)
    while plain is not value and isinstance(plain, list) and len(plain) == 1:
        plain = plain[0]
    if not isinstance(plain, bool) and (isinstance(plain, Real) or hasattr(plain, "__float__")):
        number = plain if isinstance(plain, int) else float(plain)
        if number == number:
            return number
        raise Wrong("your function returned nan, want a number")
    raise Wrong(f"you return {shown(value)}, want a number")


def as_numbers(values: Any, count: int | None = None) -> list[float]:
    """The numbers of a list, tuple, array, tensor, generator or similar, as Python's.

    Raises: Wrong if one is NaN or no number, or if there aren't `count` of them.
    """
    found = [as_number(one) for one in as_list(values)]
    if count is not None and len(found) != count:
        raise Wrong(f"you return {len(found)} numbers, want {count}")
    return found


def as_list(values: Any, want: str = "a list") -> list[Any]:
    """The entries of an array, a tensor or any iterable; entries that are arrays become lists, too.

    Accepts a dictionary's keys or items, but neither a text nor a dictionary.
    Raises: Wrong for a value that isn't iterable, or doesn't end; its message says `want`.
    """
    plain = _plain(values)
    if not isinstance(plain, Iterable) or isinstance(plain, str | bytes | Mapping):
        raise Wrong(f"you return {shown(values)}, want {want}")
    found = list(islice(plain, MOST + 1))
    if len(found) > MOST:
        raise Wrong(f"you return more than {MOST:,} entries: does it ever end?")
    return found


def close(got: float, want: float, rel_tol: float = 1e-6, abs_tol: float = 0.0) -> bool:
    """True if `got` is within `rel_tol · |want|` or `abs_tol` of `want`; False for NaN.

    The bound depends on `want` alone, so that a huge answer doesn't widen it.
    """
    return got == want or abs(got - want) <= max(rel_tol * abs(want), abs_tol) < math.inf


def shown(value: Any) -> str:
    """Formats an answer for a message: its representation, cut if it is long."""
    try:
        text = repr(value)
    except Exception:
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _plain(value: Any) -> Any:
    """Converts torch and NumPy values to Python's numbers and lists; leaves others unchanged."""
    return value.tolist() if callable(getattr(type(value), "tolist", None)) else value
