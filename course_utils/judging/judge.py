"""Objections to a recorded file: form, content, names in it, and numbers that are impossible."""

import hashlib
import json
import math
import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from course_utils.core import evidence, files
from course_utils.core.machine import GPU, Machine
from course_utils.core.recording import SPREAD
from course_utils.judging import plausible
from course_utils.memory.snapshots import safe_pickle

Content = dict[str, Any]

SCHEMA = files.DATA / "recording.schema.json"
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)  # no recording of this course is older
CLOCK_ERROR = timedelta(hours=1)  # that a machine's calendar may be ahead
SPREAD_BOUND = 2.0  # of the median: what half of the repetitions may span, generously
JITTER_SECONDS = 2e-5  # spread that no repetition tells from the system's own
UNITS = re.compile(r"(^|_)(seconds|bytes|[mg]i?b|per_s|flops)(_q[13])?$")  # what can't be negative
OTHER_UNITS = re.compile(
    r"(^|_)(time|times|sec|secs|ms|us|µs|ns|minutes|hours|[tg]?flops?ps|[tg]flops?|[kmg]bps)$"
    r"|(?<!_per)_s$"
)
PERSONAL = {
    "a path of a machine": r"(?<![\w.:/)])(/(?!pytorch/|usr/|dev/|proc/|sys/)[\w.+-]+){2,}"
    r"|\b[A-Z]:\\|~/",
    "an address": r"\b(?!127\.|0\.)\d{1,3}(\.\d{1,3}){3}\b|\w@\w[\w-]*[.-]\w",
}
HOME = re.compile(rb"/(home|root|Users|work|tmp|content|mnt|scratch)/")


def judge(path: Path) -> list[str]:
    """Every objection to a recorded file, each a sentence with the file and its row.

    The file stands where it was recorded to: <machine>/<chapter>/<experiment>.json. Whether rows
    were left out or are missing is no objection, nor is a GPU whose data sheet isn't known.
    """
    where = "/".join(path.parts[-3:])
    content, found = well_formed(path)
    if content is not None:
        checks = (_checksum, _declared, _numbers, _spread, _names_nobody, _date)
        found = [objection for check in checks for objection in check(content)]
        found += [*plausible.too_fast(content), *plausible.too_large(content)]
        found += [*_place(content, path), *_snapshots(content, path)]
    return [f"{where}: {objection}" for objection in found]


def well_formed(path: Path) -> tuple[Content | None, list[str]]:
    """What a recorded file holds, and no objection; None, and why, where its form is another."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None, ["can't be read as JSON"]
    found = list(_form(content))
    return (None, found) if found else (content, [])


def _form(content: Any) -> Iterator[str]:
    """By data/recording.schema.json."""
    from jsonschema import Draft202012Validator

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for error in Draft202012Validator(schema).iter_errors(content):
        path = list(error.absolute_path)
        if path[:1] == ["rows"] and len(path) > 1:
            path = [f"row {path[1] + 1}", *path[2:]]
        place = "".join(f"{part}: " for part in path)
        yield f"{place}{error.message:.200}"


def _checksum(content: Content) -> Iterator[str]:
    rest = {key: value for key, value in content.items() if key != "sha256"}
    if evidence.digest(rest) != content["sha256"]:
        yield "isn't what was recorded: its checksum differs"


def _declared(content: Content) -> Iterator[str]:
    """The experiment, its version and columns are those of data/experiments.json."""
    try:
        declared = evidence.find_experiment(f"{content['chapter']}/{content['experiment']}")
    except evidence.EvidenceError as error:
        yield str(error)
        return
    if content["version"] != declared.version:
        yield f"version {content['version']} of an experiment that is at {declared.version}"
    for column in filter(OTHER_UNITS.search, declared.columns):
        yield f"column {column}: a time is in _seconds, a rate _per_s, a size in _bytes"
    allowed = {column + end for column in declared.columns for end in ("", *SPREAD)}
    for column in sorted(set().union(*content["rows"]) - allowed):
        places = [place for place, row in enumerate(content["rows"], 1) if column in row]
        yield f"{_rows(places)}: column {column} isn't declared in data/experiments.json"
    for column in declared.columns:
        places = [place for place, row in enumerate(content["rows"], 1) if column not in row]
        if places:
            yield f"{_rows(places)}: column {column} is missing"


def _rows(places: list[int]) -> str:
    return f"row {places[0]}" + (f" and {len(places) - 1} more" if len(places) > 1 else "")


def _numbers(content: Content) -> Iterator[str]:
    for place, row in enumerate(content["rows"], 1):
        for column, value in plausible.numbers(row).items():
            if isinstance(value, float) and not math.isfinite(value):
                yield f"row {place}: {column} is {value}, no finite number"
            elif value < 0 and UNITS.search(column):
                yield f"row {place}: {column} {value:.4g} is negative"


def _spread(content: Content) -> Iterator[str]:
    """Where repetitions were kept: a count, and quartiles about the median, not too far apart."""
    for place, row in enumerate(content["rows"], 1):
        found = plausible.numbers(row)
        for column, median in found.items():
            kept = [found[column + end] for end in SPREAD if column + end in found]
            if len(kept) == len(SPREAD):
                yield from (f"row {place}: {said}" for said in _quartiles(column, median, *kept))
            elif kept:
                named = ", ".join(column + end for end in SPREAD)
                yield f"row {place}: of {named} some are missing"


def _quartiles(column: str, median: float, low: float, high: float, count: float) -> Iterator[str]:
    if not low <= median <= high:
        yield f"{column} {median:.4g} isn't between its quartiles {low:.4g} and {high:.4g}"
    if count < 1:
        yield f"{column} is the median of {count} repetitions"
    jitter = JITTER_SECONDS if column.endswith("seconds") else 0.0
    if UNITS.search(column) and high - low > max(SPREAD_BOUND * median, jitter):
        yield (
            f"half of the repetitions of {column} span {low:.3g} to {high:.3g}, more than "
            f"{SPREAD_BOUND:g} times their median {median:.3g}: was the machine busy? Record again"
        )


def _names_nobody(content: Content) -> Iterator[str]:
    """No path, address or host name of the recording machine, as errors' messages bring them."""
    host = socket.gethostname()
    patterns = dict(PERSONAL)
    if len(host) > 3 and re.search(r"[\d.-]", host):  # else it may be a word of the course
        patterns["this machine's name"] = rf"\b{re.escape(host)}\b"
    for text in _texts({key: value for key, value in content.items() if key != "versions"}):
        for what, pattern in patterns.items():
            if found := re.search(pattern, text):
                yield f"holds {what}, {found[0]!r}, in {text[:80]!r}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for part in value.values() for text in _texts(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in _texts(part))


def _date(content: Content) -> Iterator[str]:
    try:
        date = datetime.fromisoformat(content["date"])
    except ValueError:
        yield f"{content['date']} is no date"
        return
    if date > datetime.now(UTC) + CLOCK_ERROR:
        yield f"dated {content['date']}, in the future"
    if date < FIRST_DAY:
        yield f"dated {content['date']}, before the course recorded anything"


def _place(content: Content, path: Path) -> Iterator[str]:
    """The file is called after its experiment, its folders after the chapter and the machine."""
    wanted = (_slug(content["machine"]), content["chapter"], f"{content['experiment']}.json")
    if path.resolve().parts[-3:] != wanted:
        yield f"by what it says it belongs into {'/'.join(wanted)}"


def _slug(machine: dict[str, Any]) -> str:
    gpus = tuple(GPU(g["name"], g["memory_bytes"], tuple(g["capability"])) for g in machine["gpus"])
    plain = {key: value for key, value in machine.items() if key not in ("name", "gpus")}
    return Machine(**plain, gpus=gpus, versions={}, hidden_gpus=None).slug


def _snapshots(content: Content, path: Path) -> Iterator[str]:
    """Files that rows name stand beside the recording, unchanged, and can be opened safely."""
    rows = [(place, row) for place, row in enumerate(content["rows"], 1) if "file" in row]
    for (place, row), file in zip(rows, named_files(content, path), strict=True):
        yield from (f"row {place}: {row['file']} {said}" for said in _snapshot(row, file, path))


def named_files(content: Content, path: Path) -> list[Path]:
    """The files that the rows of the recording at `path` name, wherever they lead."""
    return [path.parents[2] / str(row["file"]) for row in content["rows"] if "file" in row]


def _snapshot(row: evidence.Row, file: Path, path: Path) -> Iterator[str]:
    if file.resolve().parent != path.resolve().parent or not file.is_file():
        yield "isn't a file beside this one"
        return
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != row.get("file_sha256"):
        yield "isn't what was recorded: its checksum differs"
    if found := HOME.search(content):
        yield f"holds a path of a machine, {found[0].decode()!r}"
    try:
        safe_pickle.read(content)
    except safe_pickle.SnapshotError as error:
        yield f"can't be opened: {error}"
