"""Whether a number of the prose is the one that a source holds, rounded as people round."""

from tests.support.prose import units
from tests.support.prose.evidence import Source
from tests.support.prose.numbers import Number

_NEAR = 1e-9


def agrees(number: Number, source: Source) -> bool:
    """Whether the prose's number is the source's, to the digits that the prose shows."""
    return any(_same(number, wanted) for wanted in _as_written(number, source))


def _same(number: Number, wanted: float) -> bool:
    off = abs(number.mantissa - abs(wanted))
    allowed = number.step / 2 if not float(wanted).is_integer() else 0.0
    if number.about or abs(wanted) >= 1000:
        allowed = max(allowed, _round_step(number) / 2)
    return off <= allowed * (1 + _NEAR) + _NEAR * abs(number.mantissa)


def _round_step(number: Number) -> float:
    """One in the last digit that isn't a zero: 100 in 1,300; at most a twentieth of the number."""
    step = number.step or 1.0
    while number.mantissa and number.mantissa % (step * 10) == 0 and step < number.mantissa:
        step *= 10
    return min(step, number.mantissa / 20)


def _as_written(number: Number, source: Source) -> list[float]:
    """The source's value in the prose's unit, in each way in which it may be meant."""
    if source.kind is not None and number.kind is not None:
        return [source.value / number.factor] if source.kind == number.kind else []
    if source.kind is not None:
        return _bare(number, source)
    if number.kind == "share":
        return [source.value, source.value * 100, (1 - source.value) * 100,
                (source.value - 1) * 100]  # fmt: skip
    if number.kind in ("ratio", None):
        scaled = [source.value / number.factor]
        return scaled if number.factor == 1.0 else [*scaled, source.value]
    return [source.value * factor / number.factor for factor in units.same_kind(number.kind)]


def _bare(number: Number, source: Source) -> list[float]:
    """A number without a unit, against one that has it: "from 312 to 624 TFLOP/s"."""
    if source.kind == "ratio":
        return [source.value / number.factor]
    return [source.value / factor for factor in units.same_kind(source.kind)] + (
        [source.value * 100] if source.kind == "share" else []
    )
