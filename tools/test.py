"""Every test of the course, a line before each step; all steps run, any failure fails the whole.

CHAPTER=06 tests one chapter and the rooms that only it uses; CHANGED=1 tests what the uncommitted
changes can reach, CHANGED=main what differs from that commit. Other arguments go to both pytest
runs. The library's tests get one thread a worker: two workers with two threads each on two cores
take several times as long. Reports: build/library.xml, build/chapters.xml (JUnit),
build/report.json.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from course_utils.core import files
from course_utils.core.running import JOURNAL
from tools import affected, report

BUILD = files.ROOT / "build"
CONDITIONS = "tests/pages/conditions"
MOST_AGAIN = 4  # more than that is no accident
LIBRARY = "The library, the structure of the chapters, the exercises"
CHAPTERS = (
    "The chapters and their solutions, every output compared; the same under other conditions"
)


@dataclass
class Selection:
    """What pytest is given: targets of its two runs, and the chapters that they are limited to."""

    library: list[str] = field(default_factory=list)
    chapters: list[str] = field(default_factory=list)
    stems: list[str] = field(default_factory=list)


def everything() -> Selection:
    """The whole course."""
    return Selection(["tests", "--ignore", CONDITIONS], ["notebooks", CONDITIONS])


def one_chapter(name: str) -> Selection:
    """A chapter, its solutions, its exercises, and the tests of the rooms that only it uses."""
    stem = files.chapter_path(name).stem
    tests = [affected.HOUSE, *affected.EVERY_CHAPTER, *affected.own_tests(stem)]
    notebooks = [f"notebooks/{stem}.ipynb", f"notebooks/solutions/{stem}.ipynb"]
    return _selection([*tests, *notebooks])


def what_changed(since: str) -> Selection:
    """What the difference from a commit can reach; everything where that can't be told."""
    changed = affected.changed_files("HEAD" if since == "1" else since)
    found = affected.reached_by(changed)
    print(f"{len(changed)} files changed" + (": everything is tested" if found is None else ""))
    return everything() if found is None else _selection(found)


def _selection(paths: list[str]) -> Selection:
    there = [path for path in dict.fromkeys(paths) if (files.ROOT / path).exists()]
    in_chapters = [p for p in there if p.startswith(("notebooks/", CONDITIONS))]
    library = [path for path in there if path not in in_chapters]
    stems = sorted({Path(path).stem for path in in_chapters if path.endswith(".ipynb")})
    return Selection(library, in_chapters, stems)


def step(title: str, *command: str, **environment: str) -> bool:
    """Runs one step under its title; True where it passed. No test in it is no failure."""
    print(f"\n== {title}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=files.ROOT, env={**os.environ, **environment}
    )
    return done.returncode in ((0, 5) if "pytest" in command else (0,))


def main(extra: list[str]) -> int:
    """Runs what the environment selects; the exit status is 0 where everything passed."""
    try:
        chosen = _chosen()
    except (LookupError, affected.NothingToCompare) as problem:
        print(problem.args[0])
        return 2
    clean = [
        step("Style", "ruff", "check", "."),
        step("Format", "ruff", "format", "--check", "."),
        step("Style and format of the notebooks", "tools.notebook_style"),
        step("Types", "mypy"),
    ]
    return int(not (run(chosen, extra) and all(clean)))


def run(chosen: Selection, extra: list[str]) -> bool:
    """The two pytest runs of a selection, then the report; True where both passed."""
    BUILD.mkdir(exist_ok=True)
    for old in (*report.JUNIT.values(), report.JOURNAL, report.REPORT):
        old.unlink(missing_ok=True)
    common = ["pytest", "-n", os.environ.get("WORKERS", "2"), *extra]
    if chosen.stems:
        common += ["--only-chapters", ",".join(chosen.stems)]
    compare = ["--nbval", "--nbval-sanitize-with", "tests/sanitise.cfg", "--dist", "loadscope"]
    strictly = {
        "COURSE_STRICT": "1",
        "COURSE_QUIET_LOCK": str(BUILD / "quiet.lock"),
        JOURNAL: str(report.JOURNAL),
    }
    in_order = [*chosen.chapters, "--no-loadscope-reorder"]
    passed = [
        not chosen.library
        or tested("library", LIBRARY, common, chosen.library, {"OMP_NUM_THREADS": "1"}),
        not chosen.chapters
        or tested("chapters", CHAPTERS, [*common, *compare], in_order, strictly),
    ]
    print("\n== The report")
    report.main()
    return all(passed)


def tested(
    phase: str, title: str, command: list[str], targets: list[str], settings: dict[str, str]
) -> bool:
    """Runs one phase, then what failed in it once more, alone; True where all of it passes now.

    A timing that another machine of the same host disturbs can't be told from a claim that is
    wrong, nor a process that the machine held up from one that hangs, but by asking again. The
    report names what needed it.
    """
    if step(title, *command, f"--junitxml={report.JUNIT[phase]}", *targets, **settings):
        return True
    failed = report.targets_that_failed(report.read_junit(report.JUNIT[phase]))
    if not failed or len(failed) > MOST_AGAIN:
        return False
    junit = f"--junitxml={report.JUNIT[f'{phase} again']}"
    return step(f"Again, alone: {', '.join(failed)}", *command, junit, *failed, **settings)


def _chosen() -> Selection:
    chapter, changed = os.environ.get("CHAPTER"), os.environ.get("CHANGED")
    if chapter and changed:
        raise LookupError("CHAPTER or CHANGED, not both: each chooses what is tested.")
    if chapter:
        return one_chapter(chapter)
    return what_changed(changed) if changed else everything()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
