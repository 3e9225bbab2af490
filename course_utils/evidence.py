"""Evidence: what was measured elsewhere or said by others, and keeping what is measured here."""

import hashlib
import json
import math
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from course_utils import files, journal
from course_utils.machine import this_machine
from course_utils.measurement import Measurement

RECORD_TO = "COURSE_RECORD"  # the folder to record to; recording is off where it isn't set
CHAPTER = journal.CHAPTER
Row = dict[str, Any]


class EvidenceError(Exception):
    """Evidence that isn't there or can't be trusted; the message says what to do."""


@dataclass(frozen=True)
class Rows:
    """Evidence from elsewhere: rows of named columns, with units in the names."""

    rows: list[Row]

    def value(self, column: str, **where: Any) -> Any:
        """The one entry of `column` in the row whose other columns equal `where`."""
        found = [r[column] for r in self.rows if all(r.get(k) == v for k, v in where.items())]
        if len(found) != 1:
            raise EvidenceError(f"{len(found)} rows have {where}, not one")
        return found[0]

    def column(self, name: str) -> list[Any]:
        """All entries of a column, in order."""
        return [row[name] for row in self.rows]


@dataclass(frozen=True)
class Recording(Rows):
    """One experiment as a named machine gave it."""

    machine: str
    date: str
    versions: dict[str, str]

    @property
    def provenance(self) -> str:
        """`recorded: H200, torch 2.11.0, 2026-11-21`"""
        return f"recorded: {self.machine}, torch {self.versions['torch']}, {self.date[:10]}"


@dataclass(frozen=True)
class Published(Rows):
    """Figures of someone else's, with their source."""

    source: str
    what: str

    @property
    def provenance(self) -> str:
        return f"published: {self.source}"


@cache
def experiments() -> dict[str, Any]:
    """data/experiments.json: for each chapter its experiments, with version and columns."""
    return _data("experiments.json")


def _data(name: str) -> dict[str, Any]:
    """A JSON object from data/; EvidenceError says how to get it back where it can't be read."""
    try:
        found = json.loads((files.DATA / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise EvidenceError(f"data/{name} can't be read. Get it back: git checkout data/{name}")
    return found


def record(experiment: str, rows: "Iterable[Row] | dict[Any, Any]") -> None:
    """Keeps rows of an experiment of the running chapter, when `make record` runs it.

    Without recording it only checks the rows. A Measurement in a column `x_seconds` becomes its
    median there, and its quartiles and count beside it (`x_seconds_q1`, `_q3`, `_n`). A dict is
    short for rows of two columns: its keys, its values.

    Errors: EvidenceError for an unknown experiment, for columns other than those declared in
    data/experiments.json, and where the folder can't be written (the old file stays).
    """
    chapter, name, declared = _declared(experiment)
    if isinstance(rows, dict):
        rows = [dict(zip(declared["columns"], pair, strict=True)) for pair in rows.items()]
    plain = [_plain(row) for row in rows]
    for row in plain:
        if set(row) - _spread_columns(row) != set(declared["columns"]) or not _is_finite(row):
            raise EvidenceError(
                f"{chapter}/{name} declares the columns {sorted(declared['columns'])} in "
                f"data/experiments.json, and wants finite numbers; this row is {row}"
            )
    folder = recording_folder()
    if folder is not None:
        _write(folder / chapter / f"{name}.json", chapter, name, declared, plain)


def recording_folder() -> Path | None:
    """Where this machine's recordings go while `make record` runs; None at other times."""
    return Path(os.environ[RECORD_TO]) / this_machine().slug if os.environ.get(RECORD_TO) else None


def recorded(experiment: str, machine: str | None = None) -> Recording | None:
    """What a machine gave for an experiment: the named one, else the newest recording with a GPU.

    None where nothing was recorded. A file that is broken, edited or of another version of the
    experiment is passed over, with a printed sentence that says so.
    Errors: EvidenceError for an experiment that data/experiments.json doesn't know.
    """
    chapter, name, declared = _declared(experiment)
    found = []
    for path in sorted(files.RECORDED.glob(f"{machine or '*'}/{chapter}/{name}.json")):
        try:
            content = read_recording(path, declared["version"], declared["columns"])
        except EvidenceError as problem:
            print(problem)
            continue
        if content["rows"]:
            found.append((bool(content["machine"]["gpus"]), content["date"], content))
    if not found:
        return None
    _, _, best = max(found, key=lambda entry: entry[:2])
    title = best["machine"]["name"]
    journal.note("recorded", name=name, machine=title, date=best["date"])
    return Recording(best["rows"], title, best["date"], best["versions"])


def recorded_machines(chapter: str) -> list[str]:
    """The machines that recorded something for a chapter, each with its newest date."""
    newest: dict[str, str] = {}
    for path in sorted(files.RECORDED.glob(f"*/{chapter}/*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            name, date = content["machine"]["name"], content["date"][:10]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # `recorded` says what is wrong with it where it is used
        newest[name] = max(date, newest.get(name, ""))
    return [f"{name} ({date})" for name, date in sorted(newest.items())]


def published(name: str) -> Published:
    """Figures from data/published.json; EvidenceError, with the names there are, for others."""
    known = _data("published.json")
    if name not in known:
        raise EvidenceError(f"No published figures are called {name!r}. There are: {_names(known)}")
    journal.note("published", name=name, source=known[name]["source"])
    return Published(**known[name])


def read_recording(path: Path, version: int, columns: Iterable[str] = ()) -> dict[str, Any]:
    """The content of a recorded file, checked; EvidenceError says what to do about a bad one."""
    where = path.relative_to(files.ROOT) if path.is_relative_to(files.ROOT) else path.name
    again = "Remove it, or record it again on that machine with `make record`."
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kept = content.pop("sha256")
        found = content["version"]
        digest = _digest(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise EvidenceError(f"{where} can't be read as a recording. {again}") from None
    if kept != digest:
        raise EvidenceError(f"{where} isn't what was recorded: its checksum differs. {again}")
    if found != version:
        raise EvidenceError(
            f"{where} was recorded by version {found} of the experiment, and this chapter has "
            f"version {version}: not shown. {again}"
        )
    if not _is_whole(content, set(columns)):
        raise EvidenceError(f"{where} lacks what every recording has. {again}")
    return content


def _is_whole(content: dict[str, Any], columns: set[str]) -> bool:
    """Machine, date, versions and rows are there, and every row has the experiment's columns."""
    try:
        texts = (content["machine"]["name"], content["date"], content["versions"]["torch"])
        rows = content["rows"]
        return (
            all(isinstance(text, str) for text in texts)
            and isinstance(content["machine"]["gpus"], list)
            and all(columns <= set(row) for row in rows)
            and isinstance(rows, list)
        )
    except (KeyError, TypeError):
        return False


def _declared(experiment: str) -> tuple[str, str, dict[str, Any]]:
    chapter, _, name = experiment.rpartition("/")
    chapter = chapter or os.environ.get(CHAPTER, "")
    if not chapter:
        raise EvidenceError("Which chapter? Call start('02_async_execution') first, or name both.")
    if chapter not in experiments():
        raise EvidenceError(f"No chapter {chapter!r} records. Those are: {_names(experiments())}")
    if name not in experiments()[chapter]:
        raise EvidenceError(
            f"{chapter} has no experiment {name!r}. It has: {_names(experiments()[chapter])}. "
            "A new one is declared in data/experiments.json."
        )
    return chapter, name, experiments()[chapter][name]


def _names(known: Iterable[str]) -> str:
    return ", ".join(sorted(known))


def _plain(row: Row) -> Row:
    plain: Row = {}
    for column, value in row.items():
        if isinstance(value, Measurement):
            plain[column] = value.median
            plain |= {f"{column}_q1": value.q1, f"{column}_q3": value.q3, f"{column}_n": value.n}
        else:
            plain[column] = value.item() if hasattr(value, "item") else value
    return plain


def _is_finite(row: Row) -> bool:
    return all(math.isfinite(v) for v in row.values() if isinstance(v, float))


def _spread_columns(row: Row) -> set[str]:
    return {c for c in row if any(c.endswith(e) and c[: -len(e)] in row for e in SPREAD)}


SPREAD = ("_q1", "_q3", "_n")


def _write(path: Path, chapter: str, name: str, declared: dict[str, Any], rows: list[Row]) -> None:
    content = {
        "chapter": chapter,
        "experiment": name,
        "version": declared["version"],
        "machine": this_machine().as_dict(),
        "versions": this_machine().versions,
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": [_in_order(row, declared["columns"]) for row in rows],
    }
    content["sha256"] = _digest(content)
    try:
        files.write_whole(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise EvidenceError(
            f"{name} was measured but can't be kept: {path.parent} isn't writable "
            f"({error.strerror}). Make it writable, or record elsewhere with --to FOLDER."
        ) from None


def _in_order(row: Row, columns: list[str]) -> Row:
    """The declared columns first, in their order: figures take the first two."""
    return {c: row[c] for c in columns} | row


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


def _commit() -> str | None:
    """The commit of this tree, `+` behind it where the tree has changed since; None without git."""
    commands = (["git", "rev-parse", "HEAD"], ["git", "status", "--porcelain", "course_utils"])
    try:
        head, changes = (
            subprocess.run(c, cwd=files.ROOT, capture_output=True, text=True, check=True).stdout
            for c in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.strip() + ("+" if changes else "")
