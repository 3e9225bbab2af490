"""Writes the locked files from pyproject.toml's loose bounds: `make lock`.

requirements.txt and environment.yml are the reader's, requirements-site.txt is for `make site`, and
requirements-otter.txt has what `make assignment` needs beside requirements.txt.

The tree is resolved for Python 3.11 to 3.13 on every platform at once (uv's universal mode).
What torch needs for its own CUDA build is left to torch: pip fetches it with torch, and a
machine without a GPU never does.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
TORCH = "torch==2.13.0"
OWNED_BY_TORCH = re.compile(r"^(nvidia-(?!ml-py)|cuda-|triton==)")
HEADER = """\
# Every package of the course, exactly. Generated: refresh with `make lock`, never by hand.
# Install torch first, with what it needs, then the rest, which is complete:
#   pip install {torch}
#   pip install --no-deps -r requirements.txt
"""
CONDA_HEADER = """\
# The versions of requirements.txt for conda. Generated: refresh with `make lock`.
#   conda env create -f environment.yml
#   conda activate course
#   pip install --no-deps -e . {packages}
name: course
channels:
  - conda-forge
dependencies:
  - python>=3.11,<3.14
  - pip
  - pip:
"""

READERS = ("pyproject.toml", "--extra", "test")
SITE = ROOT / "requirements-site.txt"
SITE_HEADER = "# What `make site` installs into .venv-site. Generated: refresh with `make lock`.\n"
OTTER = ROOT / "requirements-otter.txt"
OTTER_HEADER = """\
# What .venv-otter has beside the packages of .venv, which it also sees (`make assignment`).
# Generated: refresh with `make lock`.
"""


def resolve(*args: str) -> list[str]:
    """The pins that uv finds in pyproject.toml, one `name==version ; marker` a line."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet"]
    options = ["--universal", "--python-version", "3.11"]
    options += ["--fork-strategy", "fewest", "--no-header", "--no-annotate", "--constraint", "-"]
    done = subprocess.run(
        [*command, *options, *args], cwd=ROOT, input=TORCH, text=True, capture_output=True
    )
    if done.returncode:
        sys.exit(f"uv could not resolve pyproject.toml:\n{done.stderr}")
    pins = done.stdout.splitlines()
    return [pin for pin in pins if not OWNED_BY_TORCH.match(pin) and "'never'" not in pin]


def conda_lines(pins: list[str]) -> str:
    """The pins as the pip section of an environment.yml."""
    return "".join(f'      - "{pin}"\n' for pin in pins)


def main() -> None:
    pins, site = resolve(*READERS, *sys.argv[1:]), resolve("--group", "site", *sys.argv[1:])
    requirements = HEADER.format(torch=TORCH) + "".join(f"{pin}\n" for pin in pins)
    (ROOT / "requirements.txt").write_text(requirements)
    packages = " ".join(f"-e packages/{one.name}" for one in PACKAGES)
    header = CONDA_HEADER.format(packages=packages)
    (ROOT / "environment.yml").write_text(header + conda_lines(pins))
    SITE.write_text(SITE_HEADER + "".join(f"{pin}\n" for pin in site))
    readers = {pin.partition("==")[0] for pin in pins}
    also = ("--group", "otter", "--constraint", "requirements.txt", *sys.argv[1:])
    otter = [pin for pin in resolve(*also) if pin.partition("==")[0] not in readers]
    OTTER.write_text(OTTER_HEADER + "".join(f"{pin}\n" for pin in otter))
    print(f"requirements.txt and environment.yml: {len(pins)} packages; {SITE.name}: {len(site)}")
    print(f"{OTTER.name}: {len(otter)}")


if __name__ == "__main__":
    main()
