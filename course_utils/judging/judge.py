"""Checks recorded files: form, content, names in them, impossible numbers.

The checksum has no key: it finds accidents, and no file that was forged with care.
"""

import hashlib
import json
import math
import re
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.core import evidence, files
from course_utils.core.evidence import Row
from course_utils.core.gpus import Specs, explain_unknown, gpu_specs
from course_utils.core.machine import GPU, Machine
from course_utils.core.recording import SPREAD
from snapshots_and_traces.snapshots.loading import loads
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError

Content = dict[str, Any]

CLOCK_ERROR = timedelta(hours=1)  # that a machine's calendar may be ahead
SPREAD_BOUND = 2.0  # of the median: what half of the repetitions may span, generously
JITTER_SECONDS = 2e-5  # a spread that can't be told from the operating system's own
PERSONAL = {
    "a path of a machine": r"(?<![\w.:/)])(/(?!pytorch/|usr/|dev/|proc/|sys/)[\w.+-]+){2,}"
    r"|\b[A-Z]:\\|~/",
    "an address": r"\b(?!127\.|0\.)\d{1,3}(\.\d{1,3}){3}\b|\w@\w[\w-]*[.-]\w",
}
HOME = re.compile(rb"/(home|root|Users|work|tmp|content|mnt|scratch)/")


def verdict(folder: Path) -> tuple[list[str], bool]:
    """Lines about everything below a folder (or one file), and whether there is any objection.

    Raises: FileNotFoundError where there is no such folder; data/recorded need not be there.
    """
    if not folder.exists() and folder != files.RECORDED:
        raise FileNotFoundError(f"There is no {folder} to judge.")
    found, good = _recordings(folder), whole(folder)
    named = {file.resolve() for path, content in good for file in _named_files(content, path)}
    objections = [objection for path in found for objection in judge(path)]
    objections += [
        f"{'/'.join(path.parts[-3:])}: no recording, and none names it"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".json" and path.resolve() not in named
    ]
    remarks = dict.fromkeys(filter(None, (not_judged(content) for _, content in good)))
    judged = f"{len(found)} file{'' if len(found) == 1 else 's'}"
    said = f"{len(objections)} objections" if objections else "no objection"
    lines = [*(f"✗ {objection}" for objection in objections), *(f"– {r}" for r in remarks)]
    return [*lines, f"{judged}, {said}"], bool(objections)


def whole(folder: Path) -> list[tuple[Path, Content]]:
    """The recordings below a folder that have the form of one, with their content."""
    read = ((path, _well_formed(path)[0]) for path in _recordings(folder))
    return [(path, content) for path, content in read if content is not None]


def _recordings(folder: Path) -> list[Path]:
    """The recorded files below a folder, in order; or the one that `folder` is."""
    return [folder] if folder.is_file() else sorted(folder.rglob("*.json"))


def judge(path: Path) -> list[str]:
    """Every objection to a recorded file, each a sentence with the file and its row.

    The file's path ends in <machine>/<chapter>/<experiment>.json. Rows that were left out or are
    missing are no objection, nor is a GPU whose data sheet isn't known.
    """
    where = "/".join(path.parts[-3:])
    content, found = _well_formed(path)
    if content is not None:
        checks = (_spread, _names_nobody, too_fast, too_large)
        found = [objection for check in checks for objection in check(content)]
        for of_file in (_true, _place, _snapshots):
            found += of_file(content, path)
    return [f"{where}: {objection}" for objection in found]


def _well_formed(path: Path) -> tuple[Content | None, list[str]]:
    """A recorded file's content; None, and the objections, where it breaks the JSON schema."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError):
        return None, ["can't be read as JSON"]
    found = []
    for error in _validator().iter_errors(content):
        place = list(error.absolute_path)
        if place[:1] == ["rows"] and len(place) > 1:
            place = [f"row {place[1] + 1}", *place[2:]]
        found.append("".join(f"{part}: " for part in place) + f"{error.message:.200}")
    return (None, found) if found else (content, [])


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    schema = files.ROOT / "data" / "recording.schema.json"
    return Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))


def _true(content: Content, path: Path) -> Iterator[str]:
    """It is unedited, of a date that was, and of an experiment's present version and columns."""
    try:
        declared = evidence.find_experiment(f"{content['chapter']}/{content['experiment']}")
        evidence.read_recording(path, declared)
        unknown = set().union(*content["rows"]) - {
            column + end for column in declared.columns for end in ("", *SPREAD)
        }
        yield from (f"column {column} isn't declared" for column in sorted(unknown))
    except evidence.EvidenceError as error:
        yield str(error)
    try:
        if datetime.fromisoformat(content["date"]) > datetime.now(UTC) + CLOCK_ERROR:
            yield f"dated {content['date']}, in the future"
    except ValueError:
        yield f"{content['date']} is no date"


def _spread(content: Content) -> Iterator[str]:
    """Quartiles are around their median, and not too far apart."""
    for place, row in enumerate(content["rows"], 1):
        found = numbers(row)
        for column in (name.removesuffix("_q1") for name in found if name.endswith("_q1")):
            median, low, high = (found.get(column + end, math.nan) for end in ("", "_q1", "_q3"))
            if not low <= median <= high:
                yield f"row {place}: {column} {median} isn't between its quartiles {low} and {high}"
            jitter = JITTER_SECONDS if column.endswith("seconds") else 0
            timed = column.endswith(("seconds", "per_s"))  # a ratio may be spread wider
            if timed and high - low > max(SPREAD_BOUND * median, jitter):
                yield (
                    f"row {place}: half of the repetitions of {column} span {low:.3g} to "
                    f"{high:.3g}, more than {SPREAD_BOUND:g} times their median {median:.3g}: "
                    "was the machine busy? Record again"
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
    elif isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        yield from (text for part in parts for text in _texts(part))


def _place(content: Content, path: Path) -> Iterator[str]:
    """The file is called after its experiment, its folders after the chapter and the machine."""
    plain = {key: value for key, value in content["machine"].items() if key != "name"}
    gpus = tuple(GPU(g["name"], g["memory_bytes"], tuple(g["capability"])) for g in plain["gpus"])
    machine = Machine(**plain | {"gpus": gpus}, versions={}, hidden_gpus=None)
    wanted = (machine.slug, content["chapter"], f"{content['experiment']}.json")
    if path.resolve().parts[-3:] != wanted:
        yield f"by what it says it belongs into {'/'.join(wanted)}"


def _named_files(content: Content, path: Path) -> list[Path]:
    """The files that the rows of the recording at `path` name, wherever they lead."""
    return [path.parents[2] / str(row["file"]) for row in content["rows"] if "file" in row]


def _snapshots(content: Content, path: Path) -> Iterator[str]:
    """Files that rows name are beside the recording, unchanged, and can be opened safely."""
    rows = [(place, row) for place, row in enumerate(content["rows"], 1) if "file" in row]
    for (place, row), file in zip(rows, _named_files(content, path), strict=True):
        yield from (f"row {place}: {row['file']} {said}" for said in _snapshot(row, file, path))


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
        loads(content, str(row["file"]))
    except SnapshotError as error:
        yield f"can't be opened: {error}"


def how_to_offer(folder: Path) -> str:
    """Three lines for whoever has recorded: where the files are, and how the course gets them.

    `folder` is the machine's own, such as data/recorded/h200-x1.
    """
    shown = folder.relative_to(files.ROOT) if folder.is_relative_to(files.ROOT) else folder
    return (
        f"Recorded in {shown}: names of CPU and GPU, versions, commit, date and what was "
        "measured; no name of a user, host or folder. The files stay here until you offer them.\n"
        f"Before you do: .venv/bin/python -m course_utils judge {shown}\n"
        f"Then offer them unedited: a pull request with data/recorded/{folder.name}/ and nothing "
        "else, or an issue with an archive of that folder attached."
    )


# ---- Whether a recorded number is possible: no faster than the data sheet, no larger than the GPU.

CLOCKS = 1.02  # a data sheet's peak is that of one clock; a board may boost a little past it
GEFORCE_CLOCKS = 1.25  # those boost past the sheet's clock (RTX 3090: 1.70 GHz) up to 2.1 GHz
LARGE = 2**29  # bytes of a working set of which L2 (up to 126 MB) keeps a quarter at most
KEPT_IN_L2 = 1.25  # and so its bytes may come by that much faster than from memory
SIZES = {"bytes": 1, "mb": 10**6, "mib": 2**20, "gb": 10**9, "gib": 2**30}
UNBOUNDED = (math.inf, "")


def _peak(specs: Specs, row: Row) -> tuple[float, str]:
    """FLOP/s of the row's format; of the fastest where it has none or the GPU no unit for it."""
    name = str(row.get("format", ""))
    rates = specs.dense_tflop_per_s
    named = rates.get(name.lower().partition(" ")[0])
    margin = GEFORCE_CLOCKS if "GeForce" in specs.names[0] else CLOCKS
    of = f"dense peak in {name}" if named else "highest dense peak"
    return (named or max(rates.values())) * 1e12 * margin, f"the data sheet's {of}"


def _memory(specs: Specs, row: Row) -> tuple[float, str]:
    """Bytes/s; a working set that L2 may hold has no bound."""
    if numbers(row).get("n_bytes", LARGE) < LARGE:
        return UNBOUNDED
    return specs.memory_gb_per_s * 1e9 * KEPT_IN_L2, "what its memory delivers"


def _to_host(specs: Specs, _row: Row) -> tuple[float, str]:
    most = specs.host_link_gb_per_s / 2 * 1e9
    return most, f"one way of {specs.host_link}, its link to the host"


def _to_peer(specs: Specs, _row: Row) -> tuple[float, str]:
    """Bytes/s; PCIe boards may have a bridge that one board's data sheet doesn't mention."""
    if not specs.link.startswith("NVLink"):
        return UNBOUNDED
    return specs.link_gb_per_s / 2 * 1e9, f"one way of {specs.link}, its link to other GPUs"


# In rows of these experiments with a text that matches the pattern: a rate (a column, or two with
# a `/` between), what it is multiplied by to be in FLOP/s or bytes/s, and the most that it can be.
LIMITS: tuple[tuple[str, str, str, float, Callable[[Specs, Row], tuple[float, str]]], ...] = (
    ("*", "", "flop_per_s", 1, _peak),
    ("*", "", "tflop_per_s", 1e12, _peak),
    ("*/roofline_points", "", "flops/seconds", 1, _peak),
    ("*/roofline_points", "", "n_bytes/seconds", 1, _memory),
    ("*/stream", r"\(GPU\)", "gb_per_s", 1e9, _memory),
    ("*/host_device_copies", "host to device|device to host", "gb_per_s", 1e9, _to_host),
    # a copy's bytes are counted once there, and are both read and written
    ("*/host_device_copies", "within a device", "gb_per_s", 2e9, _memory),
    ("*/host_device_copies", "device to device", "gb_per_s", 1e9, _to_peer),
    ("02_*/copies", "", "gb_per_s", 1e9, _to_host),
    # every byte leaves its GPU once, whatever the algorithm
    ("*/nccl_allreduce", "", "n_bytes/seconds", 1, _to_peer),
)


def too_fast(content: dict[str, Any]) -> Iterator[str]:
    """A sentence for each row of a recording that is faster than its GPU's data sheet allows.

    Without a GPU, or with one whose data sheet isn't known, there is none.
    """
    specs = _specs(content)
    if specs is None:
        return
    experiment = f"{content['chapter']}/{content['experiment']}"
    limits = [limit for limit in LIMITS if fnmatch(experiment, limit[0])]
    for place, row in enumerate(content["rows"], 1):
        texts = "\n".join(value for value in row.values() if isinstance(value, str))
        for _, pattern, rate, unit, limit in limits:
            found = _rate(row, rate)
            most, what = limit(specs, row)
            if found * unit > most and re.search(pattern, texts):
                yield (
                    f"row {place}: {rate} {found:.4g} is above the {most / unit:.4g} of a "
                    f"{specs.title} ({what}, with what is allowed for clocks and caches)"
                )


def _rate(row: Row, rate: str) -> float:
    """A column, or the quotient of two; minus infinity where the row hasn't got them."""
    above, _, below = rate.partition("/")
    found = numbers(row) | {"": 1}
    if above not in found or below not in found:
        return -math.inf
    return found[above] / found[below] if found[below] else math.inf


def too_large(content: dict[str, Any]) -> Iterator[str]:
    """A sentence for each number of bytes that is more than the recording's GPU has.

    `n_bytes`, the size of a table or a message, isn't memory of a GPU and is left out.
    """
    most = max((gpu["memory_bytes"] for gpu in content["machine"]["gpus"]), default=math.inf)
    for place, row in enumerate(content["rows"], 1):
        for column, value in numbers(row).items():
            size = SIZES.get(column.rpartition("_")[2])
            if size and column != "n_bytes" and value * size > most:
                yield f"row {place}: {column} {value:,} is more than the GPU's {most:,} bytes"


def not_judged(content: dict[str, Any]) -> str | None:
    """The sentence for a GPU whose rates can't be judged, as its data sheet isn't known."""
    gpus = content["machine"]["gpus"]
    return explain_unknown(gpus[0]["name"]) if gpus and not _specs(content) else None


def numbers(row: Row) -> dict[str, float]:
    """The columns of a row that hold numbers; True and False are none."""
    found = {column: value for column, value in row.items() if isinstance(value, int | float)}
    return {column: value for column, value in found.items() if not isinstance(value, bool)}


def _specs(content: dict[str, Any]) -> Specs | None:
    gpus = content["machine"]["gpus"]
    return gpu_specs(gpus[0]["name"]) if gpus else None
