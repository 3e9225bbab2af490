"""Where the project's files are, and writing them whole or not at all."""

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = NOTEBOOKS / "solutions"
INDEX = (NOTEBOOKS / "00_index").with_suffix(".ipynb")  # the map of the course, no chapter
DATA = ROOT / "data"
RECORDED = DATA / "recorded"


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file so that a reader sees the old one or the new one, never a part; text as UTF-8.

    It is on the disk before the old one goes, so that a power cut leaves one of the two.
    Raises: OSError where the folder can't be written; nothing is left behind then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def chapters() -> list[Path]:
    """The notebooks of the chapters that are written, in order; the index is none."""
    return [path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if path.name != INDEX.name]


def chapter_path(name: str) -> Path:
    """The notebook of a chapter, by its name or the beginning of it ("02").

    Raises: LookupError, naming the chapters there are, where none or several begin so.
    """
    stem = Path(name).name.removesuffix(".ipynb")
    matches = [path for path in chapters() if stem and path.stem.startswith(stem)]
    exact = [p for p in matches if p.stem == stem]
    if len(exact or matches) != 1:
        names = ", ".join(path.stem for path in chapters())
        raise LookupError(f"No single chapter is called {name!r}. There are: {names}.")
    return (exact or matches)[0]
