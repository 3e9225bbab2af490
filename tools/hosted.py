"""Makes a hosted notebook (Colab and its like) ready for the course. Needs only Python.

    git clone ADDRESS course; python course/tools/hosted.py

Installs what is missing, and renews what is too old for the course. It never touches torch, which
the service chose for its GPU, nor what the notebook's kernel has loaded already. Prints one line
for what it did and one for what the runtime lacks.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_GPU = (
    "This runtime has no GPU. Every chapter runs all the same; where it needs one, it shows "
    "recorded and published figures. For a GPU choose another runtime type in the service's menu "
    "first, and run this again."
)
OLDEST_TORCH = (2, 11)
STAYS = ("torch", "numpy", "ipython", "ipykernel", "ipywidgets", "matplotlib", "pillow", "psutil")


def wanted():
    """The packages that the library imports, as requirements, from pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", text, re.M | re.S).group(1)
    return [one for one in re.findall(r'"([^"]+)"', block) if not one.startswith("jupyterlab")]


def installed(name):
    """The version of a package here, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def numbers(version):
    """(2, 11, 0) for "2.11.0+cu128", to compare versions."""
    return tuple(int(n) for n in re.findall(r"\d+", version.partition("+")[0]))


def name_of(requirement):
    """The package's name alone."""
    return re.match(r"[\w-]+", requirement).group(0)


def lacking():
    """The requirements that nothing here fills, but for those whose packages stay as they are."""
    found = []
    for one in wanted():
        version, least = installed(name_of(one)), one.partition(">=")[2]
        too_old = version and name_of(one) not in STAYS and numbers(version) < numbers(least)
        if not version or too_old:
            found.append(one)
    return found


def install(packages):
    """Installs them without changing anything else that is here. True where pip managed."""
    changed = [name_of(one).lower() for one in packages]
    kept = {d.name: d.version for d in importlib.metadata.distributions() if d.name}
    lines = [f"{name}=={kept[name]}\n" for name in kept if name.lower() not in changed]
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "constraints.txt"
        pins.write_text("".join(lines))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--constraint", str(pins)]
        return subprocess.run([*command, *packages]).returncode == 0


def torch_advice():
    """A sentence where the torch that is here is too old; it is never changed."""
    version = installed("torch")
    if version and numbers(version) < OLDEST_TORCH:
        wants = ".".join(map(str, OLDEST_TORCH))
        return f"torch {version} is here, the course wants {wants}: some cells will fail."
    return ""


def main():
    """Prints what was done; the exit status is 0 where the course can run."""
    if sys.version_info < (3, 11):  # noqa: UP036
        print("The course needs Python 3.11 or newer: choose a newer runtime.")
        return 1
    absent = lacking()
    if absent and not install(absent):
        print(f"pip couldn't install {', '.join(absent)}: its own message is above.")
        return 1
    print(f"Installed {', '.join(absent)}." if absent else "Nothing was missing.")
    if torch_advice():
        print(torch_advice())
    if not (shutil.which("nvidia-smi") or os.path.exists("/dev/nvidia0")):
        print(NO_GPU)
    return 0


if __name__ == "__main__":
    sys.exit(main())
