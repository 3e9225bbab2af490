"""Other Pythons on this machine: on the path, or installed by pyenv and not switched on."""

import os
import shutil
import subprocess
from pathlib import Path


def find_python(version: str) -> str | None:
    """An interpreter of a version such as "3.12" that runs, or None."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    for candidate in (shutil.which(f"python{version}"), *map(str, reversed(installed))):
        if candidate and subprocess.run([candidate, "-V"], capture_output=True).returncode == 0:
            return candidate
    return None
