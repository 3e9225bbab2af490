"""`make kit`: the course and the wheels that a machine with torch alone lacks, to carry there.

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

PYTHON, PLATFORM = "3.12", "manylinux_2_28_x86_64"
COURSE = (
    *("course_utils", "data", "notebooks", "tools/kit"),
    *("pyproject.toml", "requirements.txt", "LICENSE", "README.md"),
)
LIMIT_BYTES = 40_000_000


def main(arguments: list[str] | None = None) -> int:
    """Makes the kit that the arguments ask for; returns the exit status."""
    options = _options(arguments)
    try:
        archive = make(options.to, options.python, options.platform, options.has, options.lacks)
    except KitError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(
        f"{archive} ({archive.stat().st_size / 1e6:.1f} MB), for Python {options.python}. There:\n"
        f"  tar xzf {archive.name} && sh {options.to.name}/record.sh"
    )
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.kit", description=__doc__)
    parser.add_argument("--python", default=PYTHON, help="of the target (default: %(default)s)")
    parser.add_argument("--platform", default=PLATFORM, help="of the target (%(default)s)")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "kit", help="the folder")
    usual = ", ".join(choose.USUAL)
    has, lacks = f"what it has besides {usual}", "what it lacks of those"
    parser.add_argument("--has", action="append", default=[], metavar="NAME", help=has)
    parser.add_argument("--lacks", action="append", default=[], metavar="NAME", help=lacks)
    return parser.parse_args(arguments)


def make(
    to: Path,
    python: str = PYTHON,
    platform: str = PLATFORM,
    has: Iterable[str] = (),
    lacks: Iterable[str] = (),
) -> Path:
    """Writes the folder `to` and its archive beside it, whole or not at all; returns the archive.

    Raises: KitError, where there is no git checkout, a wheel can't be had, or it is too large.
    """
    wanted = choose.packages(python, platform, has, lacks)
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as temporary:
        folder = Path(temporary) / to.name
        copy_course(folder)
        describe_target(folder / "target", python, platform, choose.assumed(has, lacks))
        print(f"Downloading {len(wanted)} wheels for Python {python} on {platform}", flush=True)
        download(wanted, folder / "wheels", python, choose.tags(platform))
        packed = pack(folder)
        shutil.rmtree(to, ignore_errors=True)
        folder.replace(to)
        return packed.replace(to.with_name(packed.name))


def copy_course(folder: Path) -> None:
    """The files of the course that recording needs, as they are here, and which commit it is."""
    commit = _git("rev-parse", "HEAD").strip()
    changed = _git("status", "--porcelain", "--", *COURSE)
    for name in _git("ls-files", "-z", "--", *COURSE).split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / "COMMIT").write_text(f"{commit}{'+' if changed else ''}\n", encoding="utf-8")
    shutil.copy(ROOT / "tools" / "kit" / "record.sh", folder / "record.sh")


def describe_target(folder: Path, python: str, platform: str, assumed: list[str]) -> None:
    """What the kit takes for granted there, a file a fact, for record.sh and target.py to read."""
    folder.mkdir()
    needed = [name for name in assumed if name in choose.needed()]
    facts = {
        "PYTHON": python,
        "MACHINE": choose.machine(platform),
        "OLDEST_TORCH": choose.oldest("torch"),
        "NEEDED": " ".join(needed),
        "USEFUL": " ".join(name for name in assumed if name not in needed),
    }
    for name, text in facts.items():
        (folder / name).write_text(f"{text}\n", encoding="utf-8")


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
        problem = done.stderr.strip()
    except OSError as error:
        raise KitError(f"A kit names its commit, and git can't be run: {error}.") from None
    if done.returncode:
        raise KitError(
            f"A kit is made in a git checkout, so that it can name its commit: {problem}"
        )
    return done.stdout


def download(wanted: dict[str, str], to: Path, python: str, tags: Iterable[str]) -> None:
    """The wheels of exactly these versions, for another machine than this one."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(to)]
    command += ["--python-version", python, "--implementation", "cp"]
    command += [option for tag in tags for option in ("--platform", tag)]
    command += [f"{name}=={version}" for name, version in wanted.items()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise KitError(
            "pip can't get every wheel for that Python and platform: "
            + (said or ["pip said nothing"])[-1].removeprefix("ERROR: ")
        )


def pack(folder: Path, limit_bytes: int = LIMIT_BYTES) -> Path:
    """The folder as `<folder>.tgz` beside it. KitError where that is larger than the limit."""
    archive = folder.with_name(f"{folder.name}.tgz")
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder, arcname=folder.name)
    size = archive.stat().st_size
    if size > limit_bytes:
        wheels = sorted((folder / "wheels").glob("*.whl"), key=lambda w: -w.stat().st_size)
        largest = ", ".join(
            f"{w.name.split('-')[0]} {w.stat().st_size / 1e6:.0f}" for w in wheels[:4]
        )
        raise KitError(
            f"The archive would have {size / 1e6:.0f} MB, over its {limit_bytes / 1e6:.0f} MB. "
            f"The largest wheels, in MB: {largest}. What the target has, name with --has."
        )
    return archive


if __name__ == "__main__":
    sys.exit(main())
