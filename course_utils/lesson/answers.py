"""What an answer gave, as plain numbers and lists, whichever library made it; NaN is neither.

`against` compares an answer with a reference, case by case. A checker that compares by itself uses
the functions below. `error > bound` lets NaN pass, since no comparison with NaN is true: ask
whether two numbers are `close` instead.
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
    """Calls an answer with each case's arguments, and wants what the reference gives for them.

    A wanted int, text or None must be met exactly, a float as `close` says; tuples, lists, sets and
    dictionaries are compared entry by entry. Cases are tried from the shortest to the longest, so
    that the first failure is the easiest to follow; `why(*case)` ends its message.
    Raises: Wrong for that one, and for an answer that changes its arguments.
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
    """Wants an answer to be `want`, a tensor or what `against` takes.

    Of a long list, the message shows the first entry that differs.
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
    where += f", in place {places}" if places else ""
    gave = f"you gave {_written(got):.{MOST_SHOWN}}; it is {_written(want):.{MOST_SHOWN}}"
    raise Wrong(f"{where}: {gave}{why()}", picture)


def like(answer: Any, want: Any) -> Any:
    """An answer as Python's own numbers and containers, as `want` has them.

    What has another type altogether stays as it is. Raises: Wrong where a number, a list or a
    dictionary is wanted and it is none.
    """
    if answer is None or want is None:
        return answer
    if isinstance(want, str | bool):
        return type(want)(answer)
    if isinstance(want, Mapping):
        if not isinstance(answer, Mapping):
            raise Wrong(f"you return {shown(answer)}, want a dictionary")
        return {key: like(answer[key], want[key]) for key in want if key in answer}
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
    """Whether both are lists or tuples, of one length."""
    both = isinstance(got, tuple | list) and isinstance(want, tuple | list)
    return both and len(got) == len(want)


def _written(value: Any) -> str:
    """A value in a message: floats to six digits, what has a name by its name."""
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
    """A number as Python's own: an int stays one, infinity too.

    NumPy's and torch's count, and so do their arrays of one entry. True and False are no numbers.
    Raises: Wrong for anything else, and for NaN.
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
    """The numbers of a list, a tuple, an array, a tensor, a generator, or of anything like them.

    Raises: Wrong where one is NaN or no number, or where they aren't `count`.
    """
    found = [as_number(one) for one in as_list(values)]
    if count is not None and len(found) != count:
        raise Wrong(f"you return {len(found)} numbers, want {count}")
    return found


def as_list(values: Any, want: str = "a list") -> list[Any]:
    """The entries of an array, a tensor, or anything iterable; those of an array are lists again.

    Neither a text nor a dictionary is a list; a dictionary's keys or items are.
    Raises: Wrong for what can't be gone through, or doesn't end; its message says `want`.
    """
    plain = _plain(values)
    if not isinstance(plain, Iterable) or isinstance(plain, str | bytes | Mapping):
        raise Wrong(f"you return {shown(values)}, want {want}")
    found = list(islice(plain, MOST + 1))
    if len(found) > MOST:
        raise Wrong(f"you return more than {MOST:,} entries: does it ever end?")
    return found


def close(got: float, want: float, rel_tol: float = 1e-6, abs_tol: float = 0.0) -> bool:
    """Whether `got` is within `rel_tol · |want|` or `abs_tol` of `want`. NaN is close to nothing.

    The bound is a part of `want` alone, so that a huge answer isn't measured by itself.
    """
    return got == want or abs(got - want) <= max(rel_tol * abs(want), abs_tol) < math.inf


def shown(value: Any) -> str:
    """An answer in a message: its representation, cut where it is long."""
    try:
        text = repr(value)
    except Exception:
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _plain(value: Any) -> Any:
    """What torch and NumPy hold, as Python's numbers and lists; anything else as it is."""
    return value.tolist() if callable(getattr(type(value), "tolist", None)) else value
