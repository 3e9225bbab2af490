"""Paths of the project's files, and the PYTHONPATH for other processes."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from snapshots_and_traces.files import write_whole

__all__ = ["chapter_path", "chapters", "python_path", "write_whole"]
ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = NOTEBOOKS / "solutions"
INDEX = (NOTEBOOKS / "00_index").with_suffix(".ipynb")  # the map of the course, no chapter
DATA = ROOT / "data"
RECORDED = DATA / "recorded"
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))


def python_path(*more: Path) -> str:
    """The PYTHONPATH with which another process finds this tree's course_utils and packages.

    Begins with the folders `more`, ends with this process's own PYTHONPATH.
    """
    own = [*more, ROOT, *PACKAGES, os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(str(one) for one in own if str(one))


def new_folder() -> Path:
    """Returns a new folder for temporary files, which is deleted when the kernel ends."""
    folder = tempfile.mkdtemp(prefix="course-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def chapters() -> list[Path]:
    """The chapters' notebooks in order, without the index."""
    return [path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if path.name != INDEX.name]


def chapter_path(name: str) -> Path:
    """The notebook of a chapter, given its name or the beginning of it ("02").

    Raises: LookupError, with the list of chapters, if none or several match.
    """
    stem = Path(name).name.removesuffix(".ipynb")
    matches = [path for path in chapters() if stem and path.stem.startswith(stem)]
    exact = [p for p in matches if p.stem == stem]
    if len(exact or matches) != 1:
        names = ", ".join(path.stem for path in chapters())
        raise LookupError(f"No single chapter is called {name!r}. There are: {names}.")
    return (exact or matches)[0]
