"""Stores this machine's measurements while `make record` runs; `evidence` reads them back."""

import hashlib
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.core import evidence, files
from course_utils.core.evidence import EvidenceError, Experiment, Row, find_experiment
from course_utils.core.machine import this_machine
from course_utils.core.measurement import Measurement
from course_utils.core.running import bar

RECORD_TO = "COURSE_RECORD"  # the folder to record to; recording is off where it isn't set
DEADLINE = "COURSE_DEADLINE"  # when to stop, in seconds since 1970; never where it isn't set
READERS_OWN = ("predict-", "exercise-")  # beginnings of the ids of cells that a reader fills in
SPREAD = ("_q1", "_q3", "_n")
GO_ON = "The next `make record` goes on there."


def record(experiment: str, rows: "Iterable[Row] | dict[Any, Any]") -> None:
    """Stores rows of an experiment of the running chapter, if `make record` runs it.

    Without recording it only checks the rows. A Measurement in a column `x_seconds` becomes its
    median there, with its quartiles and count beside it (`x_seconds_q1`, `_q3`, `_n`). A dict is
    short for rows of two columns: its keys, its values.

    Raises: EvidenceError for an unknown experiment, for columns other than those declared in
    data/experiments.json, and if the folder can't be written (the old file stays).
    """
    wanted = find_experiment(experiment)
    if isinstance(rows, dict):
        rows = [dict(zip(wanted.columns, pair, strict=True)) for pair in rows.items()]
    _keep(wanted, [_checked(wanted, row) for row in rows])


def record_each(
    experiment: str, cases: Iterable[Row], measure: Callable[[Row], Row], what: str = ""
) -> list[Row]:
    """Returns a row for each case: the case's columns, and those that `measure(case)` returns.

    For experiments of many rows. While `make record` runs, the file is written after every row, a
    row that this machine recorded with the same code and versions isn't measured again, and no
    row is begun that would end after the time is up. A row that fails (out of memory) is left
    out, with a printed sentence. `what` is the progress bar's label. Measurements are returned as
    `record` stores them.

    Raises: EvidenceError as for `record`.
    """
    cases, wanted = list(cases), find_experiment(experiment)
    before = _rows_so_far(wanted)
    rows: list[Row] = []
    left_out: list[str] = []
    longest = 0.0
    for place, case in enumerate(bar(cases, what or experiment)):
        found = next((row for row in before if case.items() <= row.items()), None)
        if found is None and seconds_left() < longest:
            print(f"Time is up: {place} of {len(cases)} rows of {experiment} are done. {GO_ON}")
            _keep(wanted, rows, left_out, missing=len(cases) - place)
            return rows
        start = time.perf_counter()
        try:
            found = found or case | measure(case)
        except Exception as error:
            left_out.append(_sentence(case, error))
            print(f"– {left_out[-1]}")
        else:
            rows.append(_checked(wanted, found))
        _free_memory(failed=found is None)
        longest = max(longest, time.perf_counter() - start)
        _keep(wanted, rows, left_out, missing=len(cases) - place - 1)
    if not cases:
        _keep(wanted, rows)
    return rows


def recording_folder() -> Path | None:
    """Returns this machine's folder for recordings while `make record` runs, else None."""
    return Path(os.environ[RECORD_TO]) / this_machine().slug if os.environ.get(RECORD_TO) else None


def seconds_left() -> float:
    """Seconds until the time given to `make record` is up; infinity if none was given."""
    return float(os.environ.get(DEADLINE, "inf")) - time.time()


@cache
def code_of(chapter: str) -> str:
    """Returns a digest of the code on a chapter's page: `page:` and twelve hexadecimal digits.

    Comment lines, blank lines and the cells that a reader fills in don't count. Neither does the
    library: a change there that affects an experiment must raise the experiment's version.
    """
    cells = json.loads(files.chapter_path(chapter).read_text(encoding="utf-8"))["cells"]
    sources = [
        "".join(cell["source"])
        for cell in cells
        if cell["cell_type"] == "code" and not cell["id"].startswith(READERS_OWN)
    ]
    lines = [line.rstrip() for source in sources for line in source.splitlines()]
    code = "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))
    return f"page:{hashlib.sha256(code.encode()).hexdigest()[:12]}"


def _sentence(case: Row, error: Exception) -> str:
    named = ", ".join(f"{column} {value}" for column, value in case.items())
    said = re.sub(r"/\S*/", "…/", (str(error).splitlines() or [""])[0])  # no folder of a machine
    return f"{named}: left out ({type(error).__name__}: {said:.200})"


def _free_memory(failed: bool) -> None:
    """Frees the GPU memory that a failed row left, so that the next one has all of it."""
    torch = sys.modules.get("torch")
    if failed and torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _rows_so_far(wanted: Experiment) -> list[Row]:
    """Returns the rows that this machine recorded with the same code and versions."""
    path = _path(wanted)
    if path is None or not path.exists():
        return []
    try:
        content = evidence.read_recording(path, wanted)
    except EvidenceError:
        return []
    now = {"code": code_of(wanted.chapter), "versions": this_machine().versions}
    return content["rows"] if now.items() <= content.items() else []


def _path(wanted: Experiment) -> Path | None:
    folder = recording_folder()
    return folder / wanted.chapter / f"{wanted.name}.json" if folder else None


def _checked(wanted: Experiment, row: Row) -> Row:
    """Returns the row as it is stored.

    Raises: EvidenceError if its columns aren't the declared ones, or a number isn't finite.
    """
    plain = _plain(row)
    spread = {c for c in plain if any(c.endswith(e) and c[: -len(e)] in plain for e in SPREAD)}
    is_finite = all(math.isfinite(v) for v in plain.values() if isinstance(v, float))
    if set(plain) - spread != set(wanted.columns) or not is_finite:
        raise EvidenceError(
            f"{wanted.chapter}/{wanted.name} declares the columns {sorted(wanted.columns)} in "
            f"data/experiments.json, and wants finite numbers; this row is {plain}"
        )
    return {column: plain[column] for column in wanted.columns} | plain


def _plain(row: Row) -> Row:
    plain: Row = {}
    for column, value in row.items():
        if isinstance(value, Measurement):
            plain[column] = value.median
            plain |= {f"{column}_q1": value.q1, f"{column}_q3": value.q3, f"{column}_n": value.n}
        else:
            plain[column] = value.item() if hasattr(value, "item") else value
    return plain


def _keep(
    wanted: Experiment, rows: list[Row], left_out: Iterable[str] = (), missing: int = 0
) -> None:
    path = _path(wanted)
    if path is None:
        return
    content = {
        "chapter": wanted.chapter,
        "experiment": wanted.name,
        "version": wanted.version,
        "machine": this_machine().as_dict(),
        "versions": this_machine().versions,
        "commit": _commit(),
        "code": code_of(wanted.chapter),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "left_out": list(left_out),
        "missing_rows": missing,
        "rows": rows,
    }
    content["sha256"] = evidence.digest(content)
    try:
        files.write_whole(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise EvidenceError(
            f"{wanted.name} was measured but can't be kept: {path.parent} isn't writable "
            f"({error.strerror}). Make it writable, or record elsewhere with --to FOLDER."
        ) from None


def _commit() -> str | None:
    """Returns this tree's commit, with `+` if the tree has changed since; None without git.

    A kit has no git: its file COMMIT names the commit that it was made from.
    """
    if (files.ROOT / "COMMIT").exists():
        return (files.ROOT / "COMMIT").read_text(encoding="utf-8").strip()
    commands = (["git", "rev-parse", "HEAD"], ["git", "status", "--porcelain", "course_utils"])
    try:
        head, changes = (
            subprocess.run(c, cwd=files.ROOT, capture_output=True, text=True, check=True).stdout
            for c in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.strip() + ("+" if changes else "")
