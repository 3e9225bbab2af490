"""A copy of the course in a temporary folder, in which errors are planted and taken back."""

import os
import shutil
import subprocess
from pathlib import Path

from course_utils.core.files import ROOT
from tools.plant.plants import Plant


class Copy:
    """The files that git knows or would take, as they are now. The tree itself is never touched."""

    def __init__(self, folder: Path) -> None:
        self.root, self.clean = folder / "course", folder / "clean"
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        self.names = [name for name in found.split("\0") if name and (ROOT / name).is_file()]
        for name in self.names:
            (self.clean / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.clean / name)
        shutil.copytree(self.clean, self.root)

    def plant(self, *plants: Plant) -> None:
        for plant in plants:
            plant.edit(self.root)

    def changed(self) -> list[str]:
        """The files that differ from what they were, by time or size."""
        pairs = ((name, self.root / name, self.clean / name) for name in self.names)
        return [name for name, now, then in pairs if _state(now) != _state(then)]

    def restore(self) -> None:
        """Every file as it was, with its time: what Python compiled of it is right again."""
        for name in self.changed():
            shutil.copy2(self.clean / name, self.root / name)

    def environment(self) -> dict[str, str]:
        """For a process that shall import the copy's code and no other."""
        own = {**os.environ, "PYTHONPATH": str(self.root)}
        own.pop("OMP_NUM_THREADS", None)
        return own


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size
