"""Training scripts with faults drawn at random, and reports on some of them.

A script's text marks alternatives: a line that ends in `#! fault` belongs to the fault, one in
`#= fault` stands there without it.
"""

import random
import re
from pathlib import Path

import msgspec

from course_utils.core import files
from training_diagnosis.records import Report
from training_diagnosis.report import in_words

FOLDER = files.DATA / "strange_scripts"
MARK = re.compile(r"\s*#([!=]) ([a-z0-9-]+)$")
HEAD = re.compile(r"# Script (\w+), draw (\d+)")
AT_ONCE = 2  # faults


def names() -> list[str]:
    """The scripts that there are."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def faults_of(name: str) -> list[str]:
    """The faults that a script can have."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return sorted({found[2] for line in lines if (found := MARK.search(line)) and found[1] == "!"})


def with_faults(name: str, draw: int, faults: set[str]) -> tuple[str, dict[str, set[int]]]:
    """The script's text with these faults, and the numbers of each fault's lines."""
    lines = [f"# Script {name}, draw {draw}: find what makes it slow, or large."]
    places: dict[str, set[int]] = {fault: set() for fault in sorted(faults)}
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if found := MARK.search(line):
            if (found[1] == "!") != (found[2] in faults):
                continue
            line = line[: found.start()]
            if found[1] == "!":
                places[found[2]].add(len(lines) + 1)
        lines.append(line)
    return "\n".join(lines) + "\n", places


def drawn(name: str, draw: int) -> set[str]:
    """The faults of a draw, by the script's name and a number."""
    return set(random.Random(f"{name} {draw}").sample(faults_of(name), AT_ONCE))


def hand_out(path: str, script: str = "", draw: int | None = None) -> str:
    """Writes one of the scripts, with faults drawn at random, to `path`; returns what it wrote.

    Raises: ValueError if there is no such script, FileExistsError if `path` holds something else.
    """
    target = Path(path)
    if target.exists() and not HEAD.match(target.read_text(encoding="utf-8")):
        raise FileExistsError(f"{path} exists and isn't one of these scripts: take another name")
    if script and script not in names():
        raise ValueError(f"there is no script {script!r}; there are {', '.join(names())}")
    script = script or random.choice(names())
    draw = random.randrange(1000) if draw is None else draw
    text, _ = with_faults(script, draw, drawn(script, draw))
    files.write_whole(target, text.encode())
    return f"{path}: {len(text.splitlines())} lines, script {script}, {AT_ONCE} faults"


def handed_out(path: str) -> dict[str, set[int]]:
    """The faults of a script that `hand_out` wrote: the numbers of each one's lines.

    Raises: OSError if there is no such file, ValueError if it isn't such a script as written.
    """
    text = Path(path).read_text(encoding="utf-8")
    head = HEAD.match(text)
    if head is None or head[1] not in names():
        raise ValueError(f"{path} isn't a script of `hand_out`")
    name, draw = head[1], int(head[2])
    whole, places = with_faults(name, draw, drawn(name, draw))
    if text != whole:
        raise ValueError(f"{path} has been changed since: `hand_out({path!r})` writes another one")
    return places


def reports() -> dict[str, Report]:
    """Real reports on four runs of these scripts, by a letter, with what each run's fault was in
    `arguments`.
    """
    kept = (FOLDER / "reports.json").read_bytes()
    return msgspec.json.decode(kept, type=dict[str, Report])


def show_reports() -> None:
    """Prints the reports without findings and verdict."""
    for letter, report in reports().items():
        report.findings, report.notes = [], []
        report.nothing_gained, report.verdict = [], "what is wrong?"
        report.script = f"Run {letter}"
        print(in_words(report), end="\n\n")
