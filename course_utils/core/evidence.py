"""Evidence: numbers, the kind of evidence that they are, and their origin.

A number gets to the page in five steps: `timing` measures it, a `measurement` holds its
repetitions, `recording` stores it for other machines, this module makes a `Series` of it, and
`figures.compare` draws that.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.core import files, running
from course_utils.core.machine import this_machine
from course_utils.core.measurement import Measurement

CHAPTER = running.CHAPTER
Row = dict[str, Any]


class EvidenceError(Exception):
    """Evidence is missing or can't be trusted; the message says how to fix it."""


@dataclass(frozen=True)
class Series:
    """Numbers from one place, the kind of evidence that they are, and their origin.

    `values` are the numbers under their labels, as a figure shows them. Recorded and published
    series have `rows` too: everything that is known, in named columns, with units in the names.
    """

    values: Mapping[Any, float]
    kind: str  # live, recorded, published, predicted or exact
    provenance: str
    unit: str | None = None  # where it differs from the figure's
    rows: Sequence[Row] = ()
    source: str = ""  # who published it
    machine: str = ""  # which one recorded it
    date: str = ""  # when, as text that sorts
    quartiles: Mapping[Any, tuple[float, float]] = field(default_factory=dict)  # where measured

    @classmethod
    def of(cls, values: "Values") -> "Series":
        """Makes a live series of plain values, which were measured here and now; keeps a series."""
        if isinstance(values, Series):
            return values
        plain = {k: v.median if isinstance(v, Measurement) else float(v) for k, v in values.items()}
        spread = {k: (v.q1, v.q3) for k, v in values.items() if isinstance(v, Measurement)}
        title, torch = this_machine().title, this_machine().versions["torch"]
        origin = f"live: {title}, torch {torch}, {datetime.now(UTC).date()}"
        return cls(plain, "live", origin, quartiles=spread)

    @classmethod
    def of_rows(cls, rows: Sequence[Row], kind: str, provenance: str, **about: str) -> "Series":
        """Makes a series of rows, whose first two columns are labels and values.

        Raises: EvidenceError for rows of one column, and for labels that are lists.
        """
        try:
            label, value = list(rows[0])[:2]
            values = {row[label]: row[value] for row in rows}
        except (TypeError, ValueError):
            raise EvidenceError(f"{provenance}: rows begin with a label and a value") from None
        quartiles = _quartiles(rows, label, value)
        return cls(values, kind, provenance, rows=rows, quartiles=quartiles, **about)

    @classmethod
    def predicted(cls, values: Mapping[Any, float | Measurement]) -> "Series":
        """Makes a series of a formula's results: drawn as a dotted line, without a machine."""
        return cls(cls.of(values).values, "predicted", "")

    @classmethod
    def exact(cls, values: Mapping[Any, float]) -> "Series":
        """Makes a series of numbers that are the same on every machine, so without an origin."""
        return cls(dict(values), "exact", "")

    def __bool__(self) -> bool:
        return bool(self.values)

    def value(self, column: str, **where: Any) -> Any:
        """Returns the entry of `column` in the only row whose other columns equal `where`.

        Raises: EvidenceError unless there is exactly one such row.
        """
        found = [row[column] for row in self.rows_where(**where)]
        if len(found) != 1:
            raise EvidenceError(f"{len(found)} rows have {where}, not one")
        return found[0]

    def column(self, name: str) -> list[Any]:
        """Returns all entries of a column, in order."""
        return [row[name] for row in self.rows]

    def rows_where(self, **where: Any) -> list[Row]:
        """Returns the rows whose columns equal `where`, in order."""
        return [row for row in self.rows if all(row.get(k) == v for k, v in where.items())]


Values = Mapping[Any, float | Measurement] | Series


def series(
    source: Series | None, label: str, value: str, unit: str | None = None, **where: Any
) -> Series | None:
    """Returns the same evidence with other columns as labels and values, of the rows that have
    `where`; None without such rows.
    """
    rows = source.rows_where(**where) if source else []
    if not source or not rows:
        return None
    values, quartiles = {row[label]: row[value] for row in rows}, _quartiles(rows, label, value)
    return replace(source, values=values, unit=unit, rows=rows, quartiles=quartiles)


def _quartiles(rows: Sequence[Row], label: str, value: str) -> dict[Any, tuple[float, float]]:
    low, high = f"{value}_q1", f"{value}_q3"
    return {row[label]: (row[low], row[high]) for row in rows if low in row}


@dataclass(frozen=True)
class Experiment:
    """An entry of data/experiments.json; `version` is raised when the columns' meaning changes."""

    chapter: str
    name: str
    version: int
    columns: list[str]


@cache
def experiments() -> dict[str, Any]:
    """Returns data/experiments.json: each chapter's experiments, with version and columns."""
    return data("experiments.json")


def data(name: str) -> dict[str, Any]:
    """Reads a JSON object from data/. Raises: EvidenceError, with how to restore a broken file."""
    try:
        found = json.loads((files.DATA / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise EvidenceError(f"data/{name} can't be read. Get it back: git checkout data/{name}")
    return found


def recorded(experiment: str) -> Series | None:
    """Returns the newest recording of an experiment, preferring machines with a GPU.

    None if nothing was recorded. A file that is broken, edited or of another version of the
    experiment is skipped, with a printed sentence that says so.
    Raises: EvidenceError for an experiment that data/experiments.json doesn't know.
    """
    wanted, found = find_experiment(experiment), []
    for path in sorted(files.RECORDED.glob(f"*/{wanted.chapter}/{wanted.name}.json")):
        try:
            content = read_recording(path, wanted)
        except EvidenceError as problem:
            print(problem)
            continue
        if content["rows"]:
            found.append(content)
    if not found:
        return None
    best = max(found, key=lambda content: (bool(content["machine"]["gpus"]), content["date"]))
    machine, date, torch = best["machine"]["name"], best["date"], best["versions"]["torch"]
    running.note("recorded", name=wanted.name, machine=machine, date=date)
    origin = f"recorded: {machine}, torch {torch}, {date[:10]}"
    return Series.of_rows(best["rows"], "recorded", origin, machine=machine, date=date)


def recorded_machines(chapter: str) -> list[str]:
    """Lists the machines that measured something for a chapter, each with its newest date."""
    newest: dict[str, str] = {}
    for path in sorted(files.RECORDED.glob(f"*/{chapter}/*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            name, date, rows = content["machine"]["name"], content["date"][:10], content["rows"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # `recorded` says what is wrong with it where it is used
        if rows and path.stem != "claims":
            newest[name] = max(date, newest.get(name, ""))
    return [f"{name} ({date})" for name, date in sorted(newest.items())]


def published(name: str) -> Series:
    """Returns other people's figures: from data/published.json, or data/published/<name>.json.

    The first has all short ones, the folder a file for each long table, as columns and rows.
    Raises: EvidenceError, with the existing names, for another name.
    """
    found = data("published.json").get(name) or _published_table(name)
    source = found["source"]
    running.note("published", name=name, source=source)
    return Series.of_rows(found["rows"], "published", f"published: {source}", source=source)


def published_names() -> list[str]:
    """Lists every name that `published` knows."""
    tables = (path.stem for path in (files.DATA / "published").glob("*.json"))
    return sorted([*data("published.json"), *tables])


def _published_table(name: str) -> dict[str, Any]:
    if name not in published_names():
        known = ", ".join(published_names())
        raise EvidenceError(f"No published figures are called {name!r}. There are: {known}")
    table = data(f"published/{name}.json")
    try:
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    except (KeyError, TypeError, ValueError):
        wanted = "`columns`, a list of names, and `rows`, lists of as many entries"
        raise EvidenceError(f"data/published/{name}.json needs {wanted}") from None
    return table | {"rows": rows}


def read_recording(path: Path, experiment: Experiment) -> dict[str, Any]:
    """Returns the content of a recorded file. Raises: EvidenceError, with advice, for a bad one."""
    where = path.relative_to(files.ROOT) if path.is_relative_to(files.ROOT) else path.name
    again = "Remove it, or record it again on that machine with `make record`."
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kept = content.pop("sha256")
        found = content["version"]
        found_digest = digest(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise EvidenceError(f"{where} can't be read as a recording. {again}") from None
    if kept != found_digest:
        raise EvidenceError(f"{where} isn't what was recorded: its checksum differs. {again}")
    if found != experiment.version:
        raise EvidenceError(
            f"{where} was recorded by version {found} of the experiment, and this chapter has "
            f"version {experiment.version}: not shown. {again}"
        )
    if not _is_whole(content, set(experiment.columns)):
        raise EvidenceError(f"{where} lacks what every recording has. {again}")
    return content


def _is_whole(content: Any, columns: set[str]) -> bool:
    """True if machine, date, versions and rows are there, and each row has all columns."""
    match content:
        case {
            "machine": {"name": str(), "gpus": list()},
            "versions": {"torch": str()},
            "date": str(),
            "rows": list(rows),
        }:
            return all(isinstance(row, dict) and columns <= set(row) for row in rows)
    return False


def find_experiment(wanted: str) -> Experiment:
    """Finds an experiment by its name in the running chapter, or by `chapter/name` anywhere.

    Raises: EvidenceError, with the existing names.
    """
    chapter, _, name = wanted.rpartition("/")
    chapter = chapter or os.environ.get(CHAPTER, "")
    if not chapter:
        raise EvidenceError("Which chapter? Call start('02_async_execution') first, or name both.")
    declared = experiments().get(chapter)
    if declared is None:
        known = ", ".join(sorted(experiments()))
        raise EvidenceError(f"No chapter {chapter!r} records. Those are: {known}")
    if name not in declared:
        raise EvidenceError(
            f"{chapter} has no experiment {name!r}. It has: {', '.join(sorted(declared))}. "
            "A new one is declared in data/experiments.json."
        )
    return Experiment(chapter, name, **declared[name])


def digest(content: dict[str, Any]) -> str:
    """Returns the SHA-256 of a recording's content, keys sorted: it shows whether it was edited."""
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()
