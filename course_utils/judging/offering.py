"""Recordings that a reader offers: all files of a folder judged, and how the course gets them."""

from pathlib import Path

from course_utils.core import files
from course_utils.judging import plausible
from course_utils.judging.judge import Content, judge, named_files, well_formed


def verdict(folder: Path) -> tuple[list[str], bool]:
    """Lines about everything below a folder (or one file), and whether there is any objection.

    Raises: FileNotFoundError where there is no such folder; data/recorded need not be there.
    """
    if not folder.exists() and folder != files.RECORDED:
        raise FileNotFoundError(f"There is no {folder} to judge.")
    found, good = _recordings(folder), whole(folder)
    named = {named.resolve() for path, content in good for named in named_files(content, path)}
    objections = [objection for path in found for objection in judge(path)]
    objections += [
        f"{'/'.join(path.parts[-3:])}: no recording, and none names it"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".json" and path.resolve() not in named
    ]
    remarks = dict.fromkeys(filter(None, (plausible.not_judged(c) for _, c in good)))
    judged = f"{len(found)} file{'' if len(found) == 1 else 's'}"
    said = f"{len(objections)} objections" if objections else "no objection"
    lines = [*(f"✗ {objection}" for objection in objections), *(f"– {r}" for r in remarks)]
    return [*lines, f"{judged}, {said}"], bool(objections)


def whole(folder: Path) -> list[tuple[Path, Content]]:
    """The recordings below a folder that have the form of one, with their content."""
    read = ((path, well_formed(path)[0]) for path in _recordings(folder))
    return [(path, content) for path, content in read if content is not None]


def _recordings(folder: Path) -> list[Path]:
    """The recorded files below a folder, in order; or the one that `folder` is."""
    return [folder] if folder.is_file() else sorted(folder.rglob("*.json"))


def how_to_offer(folder: Path) -> str:
    """Three lines for whoever has recorded: where the files are, and how the course gets them.

    `folder` is the machine's own, such as data/recorded/h200-x1.
    """
    shown = folder.relative_to(files.ROOT) if folder.is_relative_to(files.ROOT) else folder
    return (
        f"Recorded in {shown}: names of CPU and GPU, versions, commit, date and what was "
        "measured; no name of a user, host or folder. The files stay here until you offer them.\n"
        f"Before you do: .venv/bin/python -m course_utils judge {shown}\n"
        f"Then offer them unedited: a pull request with data/recorded/{folder.name}/ and nothing "
        "else, or an issue with an archive of that folder attached."
    )
