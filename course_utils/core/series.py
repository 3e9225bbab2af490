"""Values under their labels, with the kind of evidence they are and where they are from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from course_utils.core.evidence import Published, Recording
from course_utils.core.machine import this_machine
from course_utils.core.measurement import Measurement


@dataclass(frozen=True)
class Series:
    """Values under their labels, the kind of evidence they are, and where they are from."""

    values: Mapping[Any, float]
    kind: str
    provenance: str
    unit: str | None = None  # where it differs from the figure's

    @classmethod
    def of(cls, values: "Values | Recording | Published") -> "Series":
        """Plain values are live: measured here, now. Of rows, the first two columns are taken."""
        if isinstance(values, Series):
            return values
        if isinstance(values, Recording | Published):
            label, value = list(values.rows[0])[:2]
            return series(values, label, value)  # type: ignore[return-value]
        plain = {k: v.median if isinstance(v, Measurement) else float(v) for k, v in values.items()}
        return cls(plain, "live", cls._here())

    def __bool__(self) -> bool:
        return bool(self.values)

    @classmethod
    def predicted(cls, values: Mapping[Any, float | Measurement]) -> "Series":
        """What a formula gives: drawn as a dotted line, without a machine."""
        return cls(cls.of(values).values, "predicted", "")

    @classmethod
    def exact(cls, values: Mapping[Any, float]) -> "Series":
        """What holds on every machine: no measurement, so no provenance."""
        return cls(dict(values), "exact", "")

    @staticmethod
    def _here() -> str:
        today = datetime.now(UTC).date()
        torch = this_machine().versions["torch"]
        return f"live: {this_machine().title}, torch {torch}, {today}"


Values = Mapping[Any, float | Measurement] | Series


def series(
    source: Recording | Published | None,
    label: str,
    value: str,
    unit: str | None = None,
    **where: Any,
) -> Series | None:
    """Two columns of the rows in which `where` holds, as a Series; None without such rows."""
    if source is None:
        return None
    rows = [row for row in source.rows if all(row.get(k) == v for k, v in where.items())]
    if not rows:
        return None
    kind = "recorded" if isinstance(source, Recording) else "published"
    return Series({row[label]: row[value] for row in rows}, kind, source.provenance, unit)
