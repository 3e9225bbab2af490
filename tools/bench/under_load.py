"""Whether pages pass beside other programs: two busy processes, each page several times.

`python -m tools.bench.under_load 01 02 --times 10 --load memory` runs each page as `make test`
does, outputs compared, while two processes count (`loop`), count every other 0.3 s (`pulse`) or
add up 256 MiB again and again (`memory`). `--load pretended` starts none: every measurement comes
out longer, by chance, and says that it was disturbed, which finds in one run the claims that can't
stay undecided.

For each page it prints how often it passed, which claims weren't decided, and of each failure the
cell's number and id, and the line that differs or was raised.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course_utils.core import files
from course_utils.core.running import JOURNAL
from tools import report

PROGRAMS = {
    "loop": "while True: pass",
    "pulse": "import time\nwhile True: time.sleep(0.3 * (time.time() % 0.6 < 0.3))",
    "memory": "import numpy\nx = numpy.ones(2**25)\nwhile True: x.sum()",
}
PRETENDED = Path(__file__).with_name("disturbed")
COMMAND = ("pytest", "-p", "no:cacheprovider", "--nbval", "--nbval-sanitize-with")


@contextmanager
def load(kind: str, processes: int) -> Iterator[None]:
    """Keeps so many processes busy while the block runs."""
    command = [sys.executable, "-c", PROGRAMS.get(kind, "")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    busy = [subprocess.Popen(command, env=environment) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def run(page: Path, pretended: bool) -> tuple[list[report.Case], list[str]]:
    """The cells of one run of a page, and the ids of claims that weren't decided."""
    paths = [str(PRETENDED)] * pretended + [str(files.ROOT)]
    with tempfile.TemporaryDirectory() as folder:
        junit, journal = Path(folder) / "page.xml", Path(folder) / "journal.jsonl"
        what = [str(page.relative_to(files.ROOT)), f"--junitxml={junit}"]
        subprocess.run(
            [sys.executable, "-m", *COMMAND, "tests/sanitise.cfg", *what],
            cwd=files.ROOT,
            env={
                **os.environ,
                JOURNAL: str(journal),
                "COURSE_STRICT": "1",
                "PYTHONPATH": os.pathsep.join(paths),
            },
            stdout=subprocess.DEVNULL,
        )
        claims = [one for one in report.read_journal(journal) if one["kind"] == "claim"]
        undecided = [one["id"] for one in claims if one["outcome"] == "not decided"]
        return list(report.read_junit(junit)), undecided


def failures(page: Path, cases: list[report.Case]) -> Iterator[str]:
    """`Cell 9 (stairs-claims): ClaimError: ✗ …` of each cell that failed."""
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    ids = [cell["id"] for cell in cells if cell["cell_type"] == "code"]
    for case in cases:
        if case.problem:
            number = int(case.name.rpartition(" ")[2])
            said = differing(case.problem) or report.first_line(case.problem)
            yield f"{case.name} ({ids[number]}): {said}"


def differing(problem: str) -> str:
    """The first lines that the cell printed and that are stored; nothing where it raised."""
    lines = [report.COLOUR.sub("", line).strip() for line in problem.splitlines()]
    found = (next((x for x in lines if x.startswith(sign)), "") for sign in ("- ", "+ "))
    return " | ".join(filter(None, found)) if "Cell outputs differ" in problem else ""


def main() -> None:
    """Prints one block a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chapters", nargs="+", help="01, 02, …")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--load", choices=(*PROGRAMS, "pretended"), default="loop")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    processes = asked.processes if asked.load in PROGRAMS else 0
    for page in map(files.chapter_path, asked.chapters):
        passed, undecided, failed = 0, Counter[str](), Counter[str]()
        for _ in range(asked.times):
            with load(asked.load, processes):
                cases, claims = run(page, asked.load == "pretended")
            wrong = list(failures(page, cases))
            passed += bool(cases) and not wrong
            undecided.update(set(claims))
            failed.update(wrong)
        print(f"{page.stem}: passed {passed} of {asked.times} under {asked.load}", flush=True)
        for claim, count in undecided.most_common():
            print(f"  – not decided {count} times: {claim}")
        for what, count in failed.most_common():
            print(f"  ✗ {count} times: {what}", flush=True)


if __name__ == "__main__":
    main()
