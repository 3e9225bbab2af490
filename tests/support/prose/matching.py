"""Whether a number of the prose is the one that a source holds, rounded as people round."""

from tests.support.prose.evidence import PLAIN, Source
from tests.support.prose.numbers import Number

_NEAR = 1e-9
_ROUNDED = 0.05
_PLAIN_PERCENT = 5


def agrees(number: Number, source: Source, bound: bool = False) -> bool:
    """Whether the prose's number is the source's, to the digits that the prose shows.

    What code holds is exact: people round what they read in an output or a table. With `bound`,
    20% more or less may be a bound of 1.2 or 0.8.
    """
    written = _as_written(number, source)
    if bound and number.kind == "share" and source.kind is None and source.value != 1:
        written += [(source.value - 1) * 100, source.written]
    return any(_same(number, wanted, source) for wanted in written)


def _same(number: Number, wanted: float, source: Source) -> bool:
    allowed = _NEAR * abs(number.mantissa)
    if source.rounds and not float(wanted).is_integer():
        allowed = max(allowed, min(number.step / 2, _ROUNDED * number.mantissa))
    if source.rounds and (number.about or abs(wanted) >= 1000):
        allowed = max(allowed, _round_step(number) / 2)
    elif number.about:
        allowed = max(allowed, min(_round_step(number) / 2, _ROUNDED * number.mantissa))
    return abs(number.mantissa - abs(wanted)) <= allowed * (1 + _NEAR)


def _round_step(number: Number) -> float:
    """One in the last digit that isn't a zero: 100 in 1,300; at most a twentieth of the number."""
    step = number.step or 1.0
    while number.mantissa and number.mantissa % (step * 10) == 0 and step < number.mantissa:
        step *= 10
    return min(step, number.mantissa / 20)


def _as_written(number: Number, source: Source) -> list[float]:
    """The source's value in the prose's unit, in each way in which it may be meant."""
    based = source.value / number.factor
    if source.kind is None and number.kind == "share":
        return [based, source.written] if number.mantissa >= _PLAIN_PERCENT else [based]
    if source.kind is None:
        return [based, source.written]
    if source.kind == PLAIN:
        return [based, source.value] if number.kind in (None, "ratio", "share") else []
    if number.kind == source.kind or (number.kind is None and source.kind == "ratio"):
        return [based]
    if number.kind is None:
        return [source.written]
    return [based] if {number.kind, source.kind} <= {"ratio", "share"} else []
