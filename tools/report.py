"""Reports the last `make test`, by chapter: from JUnit files and the journal, printed and kept.

build/report.json has the same for machines: per chapter seconds, claims, exercises, evidence, what
failed; then where the rest of the time went.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_utils.core import files
from course_utils.core.claims import FOLLOWS
from course_utils.lesson import exercises

BUILD = files.ROOT / "build"
JUNIT = {
    "first": BUILD / "tests.xml",
    "again": BUILD / "tests_again.xml",
}
JOURNAL = BUILD / "journal.jsonl"
REPORT = BUILD / "report.json"
BUDGET_SECONDS = 30
LOOSE_MARGIN = 2  # a bound that could be so many times tighter says less than it could
BAD = ("failure", "error")
COLOUR = re.compile(r"(#x1B|\x1b)\[[\d;]*m")
RAISED = re.compile(r"[\w.]*(Error|Warning|Exception|Interrupt)\b:")


@dataclass(frozen=True)
class Case:
    """One test as JUnit has it."""

    group: str
    name: str
    seconds: float
    problem: str | None
    at_first: str | None = None

    @property
    def chapter(self) -> str | None:
        """The chapter whose page this test runs; None for any other test."""
        parts = self.group.split(".")
        return parts[1] if parts[0] == "notebooks" and len(parts) == 3 else None


@dataclass
class Chapter:
    """The results of one chapter in a run.

    Claims are known by their ids: with those that failed or weren't decided stand their sentences,
    with those that weren't tested here what they need, with those whose bound could be more than
    twice as tight the margin. `claims_held` counts ✓, `claims_following` ∴.
    """

    seconds: float = 0.0
    claims_held: int = 0
    claims_following: int = 0
    claims_loose: dict[str, float] = field(default_factory=dict)
    claims_failed: dict[str, str] = field(default_factory=dict)
    claims_not_decided: dict[str, str] = field(default_factory=dict)
    claims_not_tested_here: dict[str, str] = field(default_factory=dict)
    exercises_verified: list[str] = field(default_factory=list)
    exercises_not_verified: list[str] = field(default_factory=list)
    recordings: list[dict[str, Any]] = field(default_factory=list)
    published: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    passed_again: list[str] = field(default_factory=list)

    @property
    def over_budget(self) -> bool:
        return self.seconds > BUDGET_SECONDS


def main(failed: Sequence[str] = ()) -> None:
    """Reads what the run left, writes build/report.json, prints the table.

    `failed` names the steps of the run that failed; any of them says that not all passed.
    """
    cases = at_last(JUNIT)
    journal = read_journal(JOURNAL)
    chapters = by_chapter(cases, journal)
    content = as_json(chapters, cases, failed)
    files.write_whole(REPORT, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    print(as_text(chapters, cases))
    kept = [path.name for path in (REPORT, *JUNIT.values()) if path.exists()]
    print(f"For machines, in build/: {', '.join(kept)}")


def read_junit(path: Path) -> Iterator[Case]:
    """The tests of one JUnit file that were not skipped; none where the run didn't write it."""
    if not path.exists():
        return
    for case in ET.parse(path).iter("testcase"):
        if case.find("skipped") is None:
            said = [bad.text or bad.get("message", "") for bad in case if bad.tag in BAD]
            name, seconds = case.get("name", ""), float(case.get("time", 0))
            yield Case(case.get("classname", ""), name, seconds, "\n".join(said) or None)


def at_last(junit: dict[str, Path]) -> list[Case]:
    """The cases of the first run; of one that was run again, what it gave then."""
    later = {(case.group, case.name): case for case in read_junit(junit["again"])}
    return [
        replace(later[key], at_first=case.problem)
        if (key := (case.group, case.name)) in later
        else case
        for case in read_junit(junit["first"])
    ]


def targets_that_failed(cases: Iterable[Case]) -> list[str]:
    """Arguments for pytest to run the failed cases again: pages whole, tests one by one."""
    found = []
    for case in cases:
        path = case.group.replace(".", "/").replace("/ipynb", ".ipynb")
        if case.problem:
            found.append(path if path.endswith(".ipynb") else f"{path}.py::{case.name}")
    return list(dict.fromkeys(found))


def read_journal(path: Path) -> list[dict[str, Any]]:
    """The notes of the chapters."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def pages_undecided(path: Path) -> list[str]:
    """The pages that have a claim that was not decided."""
    journal = read_journal(path)
    open_ = {one["chapter"] for one in journal if one.get("outcome") == "not decided"}
    return [f"notebooks/{stem}.ipynb" for stem in sorted(open_)]


def forget(path: Path, pages: Iterable[str]) -> None:
    """Takes what the journal has of these pages out of it, before they run again."""
    stems = {Path(page).stem for page in pages}
    kept = [one for one in read_journal(path) if one["chapter"] not in stems]
    lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in kept]
    files.write_whole(path, "".join(lines))


def by_chapter(cases: list[Case], journal: list[dict[str, Any]]) -> dict[str, Chapter]:
    """The chapters whose pages or exercises were tested, in order."""
    found: dict[str, Chapter] = defaultdict(Chapter)
    for case in cases:
        if case.chapter:
            found[case.chapter].seconds += case.seconds
    for name, chapter in found.items():
        _claims(chapter, [one for one in journal if one["chapter"] == name])
        _evidence(chapter, [one for one in journal if one["chapter"] == name])
    for exercise, right in _exercises(cases).items():
        stem = Path(exercises.find(exercise).solution).stem
        chapter = found[stem]
        (chapter.exercises_verified if right else chapter.exercises_not_verified).append(exercise)
    for case in cases:
        stem = next((stem for stem in found if stem in f"{case.group} {case.name}"), None)
        if case.problem and stem:
            found[stem].failed.append(f"{_where(case)}: {first_line(case.problem)}")
        elif case.at_first and stem:
            found[stem].passed_again.append(f"{_where(case)}: {first_line(case.at_first)}")
    return dict(sorted(found.items()))


def _claims(chapter: Chapter, journal: list[dict[str, Any]]) -> None:
    """A claim made several times (page, solutions, other conditions) counts once, at its worst."""
    outcomes: dict[str, set[str]] = defaultdict(set)
    following = {one["id"] for one in journal if one.get("mark") == FOLLOWS}
    for one in journal:
        if one["kind"] != "claim":
            continue
        outcomes[one["id"]].add(one["outcome"])
        if (one.get("margin") or 0) > LOOSE_MARGIN:
            chapter.claims_loose[one["id"]] = float(f"{one['margin']:.3g}")
        if one["outcome"] == "failed":
            chapter.claims_failed[one["id"]] = one["claim"]
        elif one["outcome"] == "not decided":
            chapter.claims_not_decided[one["id"]] = one["claim"]
        elif one["outcome"] == "not tested here":
            chapter.claims_not_tested_here[one["id"]] = one["needs"]
    held = {id for id, seen in outcomes.items() if seen == {"held"}}
    chapter.claims_held = len(held - following)
    chapter.claims_following = len(held & following)


def _evidence(chapter: Chapter, journal: list[dict[str, Any]]) -> None:
    now = datetime.now(UTC)
    for one in journal:
        if one["kind"] == "recorded":
            days = (now - datetime.fromisoformat(one["date"])).days
            shown = {"experiment": one["name"], "machine": one["machine"], "days_old": days}
            if shown not in chapter.recordings:
                chapter.recordings.append(shown)
    chapter.published = sorted({one["name"] for one in journal if one["kind"] == "published"})


def _exercises(cases: list[Case]) -> dict[str, bool]:
    """Whether everything that tests an exercise's check passed: solution, stub, wrong answers."""
    known = {one.name for one in exercises.all_exercises()}
    verified: dict[str, bool] = {}
    for case in cases:
        exercise = case.name.partition("[")[2].rstrip("]").partition("-")[0]
        if case.group == "tests.pages.test_answers" and exercise in known:
            verified[exercise] = verified.get(exercise, True) and case.problem is None
    return verified


def _where(case: Case) -> str:
    folder = "solutions, " if "solutions" in case.group else ""
    return folder + case.name if "notebooks" in case.group else f"{case.group}::{case.name}"


def first_line(problem: str) -> str:
    """The message of a failing cell or test, in a line, without the colours of a terminal."""
    text = COLOUR.sub("", problem)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "Cell outputs differ" in text:
        both = [line for line in lines if " == " in line and not line.startswith("assert")]
        return f"the stored output differs: {(both or lines[-1:])[0]}"
    raised = [line for line in lines if RAISED.match(line)]
    asserted = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
    return (asserted[:1] or raised[-1:] or lines or ["failed"])[0][:160]


def as_json(
    chapters: dict[str, Chapter], cases: list[Case], failed: Sequence[str] = ()
) -> dict[str, Any]:
    """The whole report as plain data."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "passed": not failed and not any(case.problem for case in cases),
        "failed_steps": list(failed),
        "budget_seconds": BUDGET_SECONDS,
        "chapters": {
            name: {**asdict(chapter), "over_budget": chapter.over_budget}
            for name, chapter in chapters.items()
        },
        "seconds_by_file": dict(_slowest(cases)),
    }


def _slowest(cases: list[Case]) -> list[tuple[str, float]]:
    spent: dict[str, float] = defaultdict(float)
    for case in cases:
        spent[case.group] += case.seconds
    return sorted(((g, round(s, 1)) for g, s in spent.items()), key=lambda pair: -pair[1])


HEAD = (
    "chapter",
    "seconds",
    "✓ held",
    "∴ follow",
    "margin > 2",
    "not testable here",
    "exercises",
    "evidence shown",
)


def as_text(chapters: dict[str, Chapter], cases: list[Case]) -> str:
    """The table of the chapters, what is wrong, and where the time went."""
    rows = [HEAD, *(_row(name, chapter) for name, chapter in chapters.items())]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    lines += [
        f"– {_where(case)}, passed when run again: {first_line(case.at_first)}"
        for case in cases
        if case.at_first and not case.problem and not any(name in _where(case) for name in chapters)
    ]
    for name, chapter in chapters.items():
        lines += [f"✗ {name}, {problem}" for problem in chapter.failed]
        lines += [f"– {name}, passed when run again: {first}" for first in chapter.passed_again]
        lines += [f"✗ {name}, claim {id}: {text}" for id, text in chapter.claims_failed.items()]
        not_decided = chapter.claims_not_decided.items()
        lines += [f"– {name}, claim {id} not decided: {text}" for id, text in not_decided]
        if chapter.claims_loose:
            margins = sorted(chapter.claims_loose.items(), key=lambda pair: -pair[1])
            shown = ", ".join(f"{id} {margin:g}" for id, margin in margins)
            lines.append(f"– {name}, margins over {LOOSE_MARGIN}: {shown}")
        if chapter.over_budget:
            lines.append(f"– {name} takes {chapter.seconds:.0f} s, over its {BUDGET_SECONDS} s")
    again = sum(case.at_first is not None for case in cases)
    lines.append(f"{again} tests were run again, alone")
    spent = ", ".join(f"{group} {seconds:.0f} s" for group, seconds in _slowest(cases)[:8])
    return "\n".join([*(line.rstrip() for line in lines), f"Most time, on one worker: {spent}"])


def _row(name: str, chapter: Chapter) -> tuple[str, ...]:
    verified = len(chapter.exercises_verified)
    claims = chapter.claims_held + len(chapter.claims_failed) + len(chapter.claims_not_decided)
    return (
        name,
        f"{chapter.seconds:.1f}",
        f"{chapter.claims_held}/{claims}",
        str(chapter.claims_following),
        str(len(chapter.claims_loose)),
        _counted(chapter.claims_not_tested_here),
        f"{verified}/{verified + len(chapter.exercises_not_verified)}",
        _shown(chapter),
    )


def _counted(needs: dict[str, str]) -> str:
    kinds = sorted(set(needs.values()))
    return ", ".join(f"{sum(n == kind for n in needs.values())} ({kind})" for kind in kinds) or "0"


def _shown(chapter: Chapter) -> str:
    ages = [one["days_old"] for one in chapter.recordings]
    machines = ", ".join(sorted({one["machine"] for one in chapter.recordings}))
    recorded = (
        f"{len(ages)} recorded ({machines}, up to {max(ages)} days old)" if ages else "0 recorded"
    )
    return f"{recorded}, {len(chapter.published)} published"
