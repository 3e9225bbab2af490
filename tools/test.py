"""Every test of the course in one pytest run, with style and types beside it, then the report.

`make test` leaves out what is marked `thorough` and guards nothing that changed lately;
`make test-all` (`--everything`) runs it all, and runs the pages again, alone, whose timed claims
other programs disturbed. HOURS=24 says how long ago "lately" was (0: nothing changed), SINCE=COMMIT
since when. CHAPTER=06 tests one chapter
and the modules that only it uses; CHANGED=1 tests what the uncommitted changes can reach,
CHANGED=main what differs from that commit. Other arguments go to pytest. Reports: build/tests.xml
(JUnit), build/report.json.
"""

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from course_utils.core import files
from course_utils.core.running import JOURNAL
from tools import affected, report

BUILD = files.ROOT / "build"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WORKERS = min(CORES, 8) + 1  # one more than cores: pages and ranks often wait
PASSED, FAILED, NO_TESTS = 0, 1, 5  # pytest's exit codes; with any other it did not come to its end
HUNG_SECONDS = 300  # of a cell: nbval would wait for 2,000
EVERYWHERE = ("notebooks", "tests", "packages")
MOST_AGAIN = 4  # if more than that fails, it is no accident
BESIDE = {  # runs while pytest does; only mypy takes long
    "Style": ("ruff", "check", "."),
    "Format": ("ruff", "format", "--check", "."),
    "Style and format of the notebooks": ("tools.notebook_style",),
    "Types": ("mypy",),
}


@dataclass
class Selection:
    """A choice of tests: files and notebooks for pytest, and chapters that are meant if not all.

    `quick` leaves out thorough tests, except those that guard one of the files in `changed`.
    """

    targets: list[str]
    stems: list[str] = field(default_factory=list)
    quick: bool = False
    changed: list[str] = field(default_factory=list)


def everything(quick: bool) -> Selection:
    """The whole course."""
    hours = float(os.environ.get("HOURS") or affected.LATELY_HOURS)
    since = os.environ.get("SINCE", "")
    changed = affected.lately_changed(hours, since) if quick and hours else []
    return Selection([*EVERYWHERE], [], quick, changed)


def one_chapter(name: str) -> Selection:
    """A chapter, its solutions, its exercises, and the tests of the modules that only it uses."""
    stem = files.chapter_path(name).stem
    tests = [affected.HOUSE, *affected.EVERY_CHAPTER, *affected.own_tests(stem)]
    notebooks = [f"notebooks/{stem}.ipynb", f"notebooks/solutions/{stem}.ipynb"]
    return _selection([*notebooks, *tests], quick=False, changed=[])


def what_changed(since: str, quick: bool) -> Selection:
    """The tests that the difference from a commit can reach; all if that can't be determined."""
    changed = affected.changed_files("HEAD" if since == "1" else since)
    found = affected.reached_by(changed)
    print(f"{len(changed)} files changed" + (": everything is tested" if found is None else ""))
    if found is None:
        return Selection([*EVERYWHERE], [], quick, changed)
    chosen = _selection(found, quick, changed)
    if any(path.endswith(".py") for path in changed):  # which may reach the other chapters' tests
        chosen.stems = []
    return chosen


def _selection(paths: list[str], quick: bool, changed: list[str]) -> Selection:
    there = [path for path in dict.fromkeys(paths) if (files.ROOT / path).exists()]
    stems = sorted({Path(path).stem for path in there if path.endswith(".ipynb")})
    return Selection(there, stems, quick, changed)


def main(arguments: list[str]) -> int:
    """Runs what the environment selects; the exit status is 0 where everything passed."""
    quick = "--everything" not in arguments
    extra = [one for one in arguments if one != "--everything"]
    try:
        chosen = _chosen(quick)
    except (LookupError, affected.NothingToCompare) as problem:
        print(problem.args[0])
        return 2
    return int(not run(chosen, extra, BESIDE))


def run(chosen: Selection, extra: list[str], beside: dict[str, tuple[str, ...]]) -> bool:
    """One pytest run of a selection, other checks beside it, the report; True if all passed."""
    BUILD.mkdir(exist_ok=True)
    for old in (*report.JUNIT.values(), report.JOURNAL, report.REPORT):
        old.unlink(missing_ok=True)
    chapters = affected.chapters_in(chosen.changed) if chosen.quick else []
    thorough = chapters[: affected.MOST_CHAPTERS]
    if thorough:
        print(f"Changed lately, so tested thoroughly: {', '.join(thorough)}")
    if left := chapters[len(thorough) :]:
        print(f"Changed too, and left to CI and `make test-all`: {', '.join(left)}")
    began, running = time.monotonic(), {title: _started(*what) for title, what in beside.items()}
    failed = [] if tested(chosen, extra) else ["Tests"]
    failed += [title for title, process in running.items() if not _ended(title, process)]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, cpu = time.monotonic() - began, used.ru_utime + used.ru_stime
    print("\n== The report")
    report.main(failed)
    print(f"{seconds / 60:.1f} minutes, {cpu / seconds / CORES:.0%} of the cores")
    print(f"✗ failed: {', '.join(failed)}" if failed else "✓ all passed")
    return not failed


def tested(chosen: Selection, extra: list[str]) -> bool:
    """Runs the selection, then what failed once more, alone; True where all of it passes now.

    A process that the machine held up can't be told from one that hangs except by asking again.
    The report names what was needed. In a full run, so is a page whose claims were not decided.
    """
    if not chosen.targets:
        print("No test can be reached from what changed.")
        return True
    common = [
        "pytest",
        "-c",
        "pyproject.toml",
        "--nbval",
        "--nbval-sanitize-with",
        "tests/sanitise.cfg",
        *extra,
    ]
    common += ["--nbval-cell-timeout", str(HUNG_SECONDS)]
    if chosen.stems:
        common += ["--only-chapters", ",".join(chosen.stems)]
    if chosen.quick:
        (BUILD / "changed.txt").write_text("\n".join(chosen.changed), encoding="utf-8")
        common += ["--quick", "--changed", str(BUILD / "changed.txt")]
    workers = ["-n", os.environ.get("WORKERS") or str(WORKERS), "--dist", "loadscope"]
    ended = step(*common, *workers, f"--junitxml={report.JUNIT['first']}", *chosen.targets)
    if ended == NO_TESTS:
        print("No test was run: those of what changed are `thorough` (`make test-all`).")
        return False
    if ended not in (PASSED, FAILED):
        print(f"pytest did not come to its end: it exited with {ended}")
        return False
    failed = report.targets_that_failed(report.read_junit(report.JUNIT["first"]))
    if (ended == FAILED and not failed) or len(failed) > MOST_AGAIN:
        return False
    undecided = [] if chosen.quick else report.pages_undecided(report.JOURNAL)
    again = list(dict.fromkeys([*failed, *undecided]))
    if not again:
        return True
    print(f"\n== Again, alone: {', '.join(again)}", flush=True)
    report.forget(report.JOURNAL, again)
    return step(*common, f"--junitxml={report.JUNIT['again']}", *again) == PASSED


def step(*command: str) -> int:
    """Runs a module; its exit status.

    The library's tests get one thread a worker: two workers with two threads each on two cores take
    several times as long. conftest.py gives pages all threads, and their journal.
    """
    own = {
        "OMP_NUM_THREADS": "1",
        "COURSE_STRICT": "1",
        "COURSE_PAGES_" + JOURNAL: str(report.JOURNAL),
    }
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=files.ROOT, env={**os.environ, **own}
    )
    return done.returncode


def _started(*command: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=files.ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def _ended(title: str, process: "subprocess.Popen[str]") -> bool:
    said, _ = process.communicate()
    print(f"\n== {title}\n{said.strip()}", flush=True)
    return process.returncode == 0


def _chosen(quick: bool) -> Selection:
    chapter, changed = os.environ.get("CHAPTER"), os.environ.get("CHANGED")
    if chapter and changed:
        raise LookupError("CHAPTER or CHANGED, not both: each chooses what is tested.")
    if chapter:
        return one_chapter(chapter)
    return what_changed(changed, quick) if changed else everything(quick)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
