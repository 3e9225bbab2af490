"""Changing the tree whole or not at all, with a note by which all of it can be taken back."""

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

CACHE = "__pycache__"


class NewError(Exception):
    """What can't be done, and what to do instead; nothing has changed."""


@dataclass
class Change:
    """What was done to a tree; paths are below its root.

    `made`: a new file's digest. `added`: the text that was put into a file. `run`: a file that was
    run again, with its text before and the digest after.
    """

    made: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    run: dict[str, tuple[str, str]] = field(default_factory=dict)


def write(root: Path, note: Path, change: Change, texts: dict[str, str]) -> None:
    """Writes all of `texts`, and `note`, which says what changed; on any error, none of them."""
    before = {path: _text(root / path) for path in texts}
    try:
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(asdict(change), indent=1), encoding="utf-8")
    except BaseException:
        note.unlink(missing_ok=True)
        for path, text in before.items():
            _put_back(root, path, text)
        raise


def take_back(root: Path, note: Path) -> dict[str, str | None]:
    """Undoes what `note` says; the text that each file has again, None where it is removed.

    A file that was run, and has changed since, is left as it is.
    Raises: NewError where work would be lost, or where there is no note.
    """
    if not note.exists():
        raise NewError(
            f"Nothing is removed: that {note.stem} was made here isn't known, for want of "
            f"{note.relative_to(root)}. Git knows the files: git status, git clean, git checkout."
        )
    change = Change(**json.loads(note.read_text(encoding="utf-8")))
    before, kept = _as_before(root, change)
    if kept:
        raise NewError(
            f"Nothing is removed: somebody has worked on {', '.join(kept)}. Keep that work "
            "elsewhere, take the changes back or delete the files; then again."
        )
    for path, text in before.items():
        _put_back(root, path, text)
    note.unlink()
    _remove_empty(note.parent, root)
    return before


def _as_before(root: Path, change: Change) -> tuple[dict[str, str | None], list[str]]:
    """The text that each file had (None: there was none), and what somebody has worked on."""
    before: dict[str, str | None] = dict.fromkeys(change.made)
    kept = [p for p, then in change.made.items() if _digest(root / p) not in (then, None)]
    for folder in sorted({(root / path).parent for path in change.made} - _shared(root)):
        there = {p for p in folder.rglob("*") if p.is_file() and CACHE not in p.parts}
        kept += sorted({p.relative_to(root).as_posix() for p in there} - set(change.made))
    for path, added in change.added.items():
        text = _text(root / path) or ""
        before[path] = text.replace(added, "", 1)
        kept += [f"the chapter's lines in {path}"] * (text.count(added) != 1)
    before |= {p: text for p, (text, then) in change.run.items() if _digest(root / p) == then}
    return before, kept


def _shared(root: Path) -> set[Path]:
    """Folders that hold files of every chapter."""
    return {root / "notebooks", root / "notebooks" / "solutions"}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _put_back(root: Path, path: str, text: str | None) -> None:
    """A file as it was; where there was none, its folder goes too, once it is empty."""
    if text is not None:
        (root / path).write_text(text, encoding="utf-8")
        return
    (root / path).unlink(missing_ok=True)
    _remove_empty((root / path).parent, root)


def _remove_empty(folder: Path, root: Path) -> None:
    """Removes a folder in which nothing but compiled Python is left, and its parents likewise."""
    while folder != root and folder.exists() and {p.name for p in folder.iterdir()} <= {CACHE}:
        shutil.rmtree(folder)
        folder = folder.parent
