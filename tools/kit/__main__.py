"""`make kit`: the course and the packages that a machine with torch alone lacks, to carry there.

Writes a folder and an archive of it. On the machine, `sh record.sh` does the rest.
"""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from course_utils.core.files import ROOT
from tools.kit import choose
from tools.kit.choose import KitError

PYTHONS = ("3.11", "3.12", "3.13")
PLATFORM = "manylinux_2_28_x86_64"
COURSE = (
    *("course_utils", "packages", "data", "notebooks", "tools/kit"),
    *("pyproject.toml", "requirements.txt", "LICENSE", "README.md"),
)


def main(arguments: list[str] | None = None) -> int:
    """Makes the kit that the arguments ask for; returns the exit status."""
    usual = ", ".join(choose.USUAL)
    parser = argparse.ArgumentParser(prog="python -m tools.kit", description=__doc__)
    add = parser.add_argument
    add("--python", default="3.12", choices=PYTHONS, help="of the target (default: %(default)s)")
    add("--platform", default=PLATFORM, help="of the target (default: %(default)s)")
    add("--to", type=Path, default=ROOT / "build" / "kit", help="the folder (default: build/kit)")
    add("--has", action="append", default=[], help=f"what the target has besides {usual}")
    add("--lacks", action="append", default=[], help="what it lacks of those")
    options = parser.parse_args(arguments)
    try:
        wanted = choose.packages(options.python, options.platform, options.has, options.lacks)
        archive = make(options.to, options.python, wanted, choose.tags(options.platform))
    except KitError as problem:
        print(problem, file=sys.stderr)
        return 1
    size = archive.stat().st_size / 1e6
    print(f"{archive} ({size:.1f} MB), for Python {options.python}. There:")
    print(f"  tar xzf {archive.name} && sh {options.to.name}/record.sh")
    return 0


def make(to: Path, python: str, wanted: list[str], tags: Iterable[str]) -> Path:
    """Writes the folder `to` and its archive beside it, whole or not at all; returns the archive.

    Raises: KitError, where there is no git checkout, or pip can't get a package.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as temporary:
        folder = Path(temporary) / to.name
        copy_course(folder)
        (folder / "PYTHON").write_text(f"{python}\n", encoding="utf-8")
        print(f"Installing {len(wanted)} packages for Python {python} into it", flush=True)
        install(wanted, folder / "site", python, tags)
        archive = folder.with_suffix(".tgz")
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(folder, arcname=to.name)
        shutil.rmtree(to, ignore_errors=True)
        folder.replace(to)
        return archive.replace(to.with_suffix(".tgz"))


def copy_course(folder: Path) -> None:
    """The files of the course that recording needs, as they are here, and which commit it is."""
    commit = _git("rev-parse", "HEAD").strip()
    changed = _git("status", "--porcelain", "--", *COURSE)
    for name in _git("ls-files", "-z", "--", *COURSE).split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / "COMMIT").write_text(f"{commit}{'+' if changed else ''}\n", encoding="utf-8")
    shutil.copy(ROOT / "tools" / "kit" / "record.sh", folder)


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise KitError(f"A kit is made in a git checkout, to name its commit: {error}") from None
    return done.stdout


def install(wanted: list[str], to: Path, python: str, tags: Iterable[str]) -> None:
    """Unpacks the wheels of exactly these versions, for another machine than this one."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    command += ["--no-deps", "--no-compile", "--only-binary=:all:", "--target", str(to)]
    command += ["--implementation", "cp", "--python-version", python]
    command += [option for tag in tags for option in ("--platform", tag)]
    done = subprocess.run([*command, *wanted], capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        why = (said or ["pip said nothing"])[-1].removeprefix("ERROR: ")
        raise KitError(f"pip can't get every package for that Python and platform: {why}")


if __name__ == "__main__":
    sys.exit(main())
