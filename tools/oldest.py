"""`make oldest`: every chapter, with its claims, on the oldest torch that pyproject.toml promises.

In .venv-oldest: that torch with its CUDA libraries, the newest numpy
that Python has, the other packages as requirements.txt pins them. OLDEST_PYTHON=/path/to/python
takes an environment that is there already. CHAPTER=09 runs one chapter. Outputs aren't compared.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from course_utils.core import files
from course_utils.core.files import ROOT
from tools import report
from tools.kit import choose

VENV = ROOT / ".venv-oldest"
JUNIT = ROOT / "build" / "oldest.xml"
CHOSEN_BY_TORCH = ("torch", "numpy", "setuptools")
NEW_NUMPY = "numpy>=2.5 ; python_version >= '3.12'"
DOWNLOAD = "about 2 GB of downloads, 5.6 GB on the disk"


class OldestError(Exception):
    """The old environment can't be had; the message says what to do."""


def main(extra: list[str]) -> int:
    """Runs the chapters; the exit status is 0 where every cell passed. `extra` goes to pytest."""
    torch = choose.oldest("torch")
    try:
        python = os.environ.get("OLDEST_PYTHON") or environment(torch)
        print(require_torch(python, torch), flush=True)
        paths = pages(os.environ.get("CHAPTER"))
    except (OldestError, LookupError) as problem:
        print(problem.args[0], file=sys.stderr)
        return 1
    return int(not (passes(python, paths, extra) or passes_again(python, extra)))


def environment(torch: str) -> str:
    """The Python of .venv-oldest, made where it isn't there or was made for other versions.

    Raises: OldestError where a package can't be installed; what is there stays for the next try.
    """
    python, stamp = VENV / "bin" / "python", VENV / "course-stamp"
    others = [str(one) for name, one in choose.pinned().items() if name not in CHOSEN_BY_TORCH]
    made_for = "\n".join([str(VENV), torch, NEW_NUMPY, *others])
    if stamp.exists() and stamp.read_text(encoding="utf-8") == made_for:
        return str(python)
    print(f"Installing torch {torch} into {VENV.name}: {DOWNLOAD}", flush=True)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    install(python, f"torch=={torch}", NEW_NUMPY)
    install(python, "--no-deps", *others)
    stamp.write_text(made_for, encoding="utf-8")
    return str(python)


def install(python: Path, *what: str) -> None:
    """pip's work in that environment; its own words go to the terminal where it fails."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if subprocess.run([*command, *what]).returncode:
        raise OldestError(
            f"pip can't install {what[0]}: its own message is above. Where the disk is full: "
            f"rm -rf {VENV.name} gives its part back. Mend it and run this again."
        )


def require_torch(python: str, torch: str) -> str:
    """Describes that environment in a line; OldestError where it isn't that torch."""
    ask = (
        "import platform, torch, numpy; print(f'Python {platform.python_version()},"
        " torch {torch.__version__}, numpy {numpy.__version__}')"
    )
    if not shutil.which(python):
        raise OldestError(f"OLDEST_PYTHON={python} is no Python that runs.")
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    said = (done.stdout or done.stderr).strip().splitlines()[-1]
    if f"torch {torch}." not in said:
        raise OldestError(f"{python} is not the torch {torch} that pyproject.toml promises: {said}")
    return said


def pages(chapter: str | None) -> list[str]:
    """The notebooks to run: a chapter with its solutions, or all."""
    if not chapter:
        return ["notebooks"]
    path = files.chapter_path(chapter)
    both = (path, files.SOLUTIONS / path.name)
    return [str(one.relative_to(ROOT)) for one in both if one.exists()]


def passes(python: str, paths: list[str], extra: list[str]) -> bool:
    """Runs notebooks in that environment; True where no cell failed."""
    JUNIT.parent.mkdir(exist_ok=True)
    JUNIT.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "--nbval-lax"]
    own = {**os.environ, "PYTHONPATH": files.python_path()}
    done = subprocess.run([*command, f"--junitxml={JUNIT}", *extra, *paths], cwd=ROOT, env=own)
    return done.returncode == 0


def passes_again(python: str, extra: list[str]) -> bool:
    """Runs what failed once more: a timing that a busy machine disturbed passes then."""
    failed = report.targets_that_failed(report.read_junit(JUNIT))
    if not failed:
        return False
    print(f"\nAgain: {', '.join(failed)}", flush=True)
    return passes(python, failed, extra)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
