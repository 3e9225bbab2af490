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
        for name in filter(None, found.split("\0")):
            if (ROOT / name).is_file():
                (self.clean / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.clean / name)
        shutil.copytree(self.clean, self.root)

    def plant(self, *plants: Plant) -> None:
        for plant in plants:
            plant.edit(self.root)

    def restore(self) -> None:
        """Every file as it was, with its time: what Python compiled of it is right again."""
        for original in self.clean.rglob("*"):
            path = self.root / original.relative_to(self.clean)
            if original.is_file() and _changed(path, original):
                shutil.copy2(original, path)

    def environment(self) -> dict[str, str]:
        """For a process that shall import the copy's code and no other."""
        own = {**os.environ, "PYTHONPATH": str(self.root)}
        own.pop("OMP_NUM_THREADS", None)
        return own


def _changed(path: Path, original: Path) -> bool:
    now, then = path.stat(), original.stat()
    return (now.st_mtime_ns, now.st_size) != (then.st_mtime_ns, then.st_size)
