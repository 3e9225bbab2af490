"""The kit: the right packages, a sentence where it can't go, one archive to carry home.

The last test makes a kit (20 MB of downloads) and records a chapter with it, without a network,
beside a torch that has no Jupyter; COURSE_KIT=all records every chapter. COURSE_KIT_PYTHON names
a Python that has torch; without it, it is this one.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile

import pytest

from course_utils.core import files
from course_utils.core.files import ROOT
from tools.kit import __main__ as kit
from tools.kit import choose, target

LINUX = "manylinux_2_28_x86_64"
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def names(*arguments, **how):
    return {line.split("==")[0] for line in choose.packages(*arguments, **how)}


@pytest.mark.parametrize("python", ["3.11", "3.13"])
def test_a_kit_has_what_runs_pages_at_the_pinned_versions_and_nothing_of_torchs(python):
    runs_pages = {"nbclient", "ipykernel", "ipywidgets", "anywidget", "gfloat", "ml-dtypes"}
    assert names(python, LINUX) > runs_pages
    assert not {"torch", "numpy", "sympy", "pillow", "matplotlib"} & names(python, LINUX)
    assert not {"jupyterlab", "nbconvert", "pytest", "nbval", "ruff"} & names(python, LINUX)
    pins = {re.split(" ;|;", line)[0] for line in (ROOT / "requirements.txt").open()}
    assert set(choose.packages(python, LINUX)) <= {pin.strip() for pin in pins}


def test_what_the_target_has_is_left_out_and_what_it_lacks_comes_along():
    usual = names("3.12", LINUX)
    assert usual - names("3.12", LINUX, has=["ipykernel"]) >= {"ipykernel", "pyzmq"}
    more = names("3.12", LINUX, lacks=["matplotlib"]) - usual
    assert {"matplotlib", "contourpy"} <= more and not {"numpy", "torch"} & more
    tags = choose.tags("manylinux_2_18_aarch64")
    assert tags[:2] == ["manylinux_2_18_aarch64", "manylinux_2_17_aarch64"]
    assert {"manylinux2014_aarch64", "manylinux1_aarch64"} < set(tags), "older wheels run there too"


@pytest.mark.parametrize(
    "options, said",
    [
        (["--platform", "win_amd64"], "'win_amd64' is no platform that a kit is made for. Give"),
        (["--has", "jupiter"], "jupiter is no package of the course: see requirements.txt."),
        (["--lacks", "torch"], "A kit holds no torch: the target needs its own"),
    ],
)
def test_what_no_kit_can_be_made_for_is_a_sentence(options, said, tmp_path, capsys):
    assert kit.main([*options, "--to", str(tmp_path / "kit")]) == 1
    assert capsys.readouterr().err.startswith(said) and os.listdir(tmp_path) == []


FAKE_TORCH = """
class Version(str):
    __lt__ = lambda self, other: [*map(int, self.split("."))] < [*map(int, other.split("."))]
__version__ = Version("2.9.1")
class cuda:
    device_count = staticmethod(lambda: 0)
"""
FAKE_RECORD = """
import pathlib, sys, time
kept = pathlib.Path("recorded/h200-x1/02/speed.json")
kept.parent.mkdir(parents=True, exist_ok=True)
(kept.parent / ".half.json.x1").write_text("{")
kept.write_text("{}")
print(sys.argv[1:], flush=True)
time.sleep(600 if "wait" in sys.argv else 0)
sys.exit(1 if "fail" in sys.argv else 0)
"""


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """The folder of a kit for this Python, whose torch, packages and recording are pretended."""
    if not (ROOT / ".git").exists():
        pytest.skip("a kit is made in a git checkout")

    def install(wanted, to, python, tags):
        to.mkdir()
        (to / "torch.py").write_text(FAKE_TORCH)
        for name in ("matplotlib", "nbclient", "ipykernel", "ipywidgets", "gfloat", "ml_dtypes"):
            (to / f"{name}.py").write_text("")

    folder = tmp_path_factory.mktemp("made") / "kit"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kit, "install", install)
        with tarfile.open(kit.make(folder, HERE, [], [])) as packed:
            assert {"kit/record.sh", "kit/data/gpus.toml"} < set(packed.getnames())
    assert sorted(os.listdir(folder.parent)) == ["kit", "kit.tgz"], "and no half of either"
    for heavy in ("course_utils", "data", "notebooks"):
        shutil.rmtree(folder / heavy)
    (folder / "course_utils").mkdir()
    (folder / "course_utils" / "__main__.py").write_text(FAKE_RECORD)
    return folder


@pytest.fixture
def made(made_once, tmp_path):
    """A copy of that kit."""
    return shutil.copytree(made_once, tmp_path / "a kit")


def start(made, *arguments):
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    own = {**os.environ, "PYTHON": sys.executable}
    return subprocess.Popen(["sh", made / "record.sh", *arguments], env=own, text=True, **how)


def test_one_archive_is_left_to_carry_home_and_a_failures_status_is_kept(made):
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert (made / "COMMIT").read_text().rstrip("+\n") == head.stdout.strip()
    said, errors = (running := start(made, "02", "--minutes", "9")).communicate(timeout=60)
    assert running.returncode == 0, errors
    assert "torch 2.9.1, no GPU\nThe course wants torch 2.11: some cells will fail." in said
    assert "['record', '--to', 'recorded', '02', '--minutes', '9']" in said
    (archive,) = made.glob("recorded-h200-x1-*.tgz")
    assert f"To carry home: {archive}" in said and f"tar xzf {archive.name} -C data" in said
    with tarfile.open(archive) as packed:
        found = [member.name for member in packed if member.isfile()]
    assert found == ["recorded/h200-x1/02/speed.json"], "and nothing half-written"
    said, _ = (running := start(made, "fail")).communicate(timeout=60)
    assert running.returncode == 1 and "To carry home" in said and "is full" not in said


@pytest.mark.parametrize("kill, end", [(os.kill, signal.SIGTERM), (os.killpg, signal.SIGINT)])
def test_a_recording_that_is_stopped_is_packed_too(made, kill, end):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    running = start(made, "wait")
    signal.signal(signal.SIGINT, before)
    assert next(line for line in running.stdout if line.startswith("['record'"))
    kill(running.pid, end)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 128 + end
    assert "Recording was stopped. Run record.sh again and it goes on." in said
    assert len(list(made.glob("recorded-h200-x1-*.tgz"))) == 1


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("site/torch.py", "import lib_cudnn", "can't record (ModuleNotFoundError: No module named"),
        ("site/gfloat.py", "1 / 0", "can't record (ZeroDivisionError: division by zero). A packa"),
        ("PYTHON", "3.8", f"3.8 with torch, and {sys.executable} is {HERE} with torch; load the"),
    ],
)
def test_what_is_missing_on_the_target_is_said_before_anything_runs(made, name, text, said):
    (made / name).write_text(text)
    _, errors = (running := start(made)).communicate(timeout=60)
    assert running.returncode == 1 and said in errors and len(errors.splitlines()) == 1
    assert not (made / "recorded").exists()


def test_the_first_python_that_fits_and_has_torch_is_taken(made, tmp_path):
    answers = {"python3": "3.9 with", "python": f"{HERE} without", f"python{HERE}": f"{HERE} with"}
    for name, answer in answers.items():
        text = f'#!/bin/sh\n[ "$1" = -c ] && echo "{answer} torch" || echo "{name} runs $*"\n'
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    command, own = ["sh", made / "record.sh", "02 x"], {"PATH": f"{tmp_path}:{os.defpath}"}
    done = subprocess.run(command, env=own, capture_output=True, text=True)
    assert done.stdout == f"python{HERE} runs tools/kit/target.py 02 x\n" and not done.stderr


def test_a_full_disk_and_a_folder_that_cannot_be_written_are_sentences(made, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(target, "KIT", made)
    monkeypatch.setattr(target.tarfile, "open", full)
    (made / "recorded" / "m").mkdir(parents=True)
    target.pack()
    assert "(No space left on device). What was measured is safe" in capsys.readouterr().out
    monkeypatch.setattr(target, "KIT", made / "COMMIT")
    assert target.main([]) == 1
    assert "COMMIT can't be written (Not a directory). Copy the kit" in capsys.readouterr().err


ALONE = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
LINKS = """
import sys
from importlib import metadata
from pathlib import Path
from tools.kit import choose
names = choose.closed(choose.assumed(), choose.default_environment())
for installed in metadata.distributions():
    for file in installed.files if choose.canonicalize_name(installed.name) in names else ():
        link = Path(sys.argv[1], file.parts[0])
        if file.parts[0] not in ("..", "__pycache__") and not link.exists():
            link.symlink_to(installed.locate_file(file.parts[0]))
"""


@pytest.mark.thorough(
    "tools/kit", "course_utils/cli", "course_utils/core", "course_utils/lesson", "pyproject.toml"
)
def test_the_kit_records_beside_a_torch_without_jupyter_or_a_network(tmp_path):
    if not shutil.which("unshare") or subprocess.run([*ALONE, "true"]).returncode:
        pytest.skip("a program can't be cut off from the network here")
    every = os.environ.get("COURSE_KIT") == "all"
    python = os.environ.get("COURSE_KIT_PYTHON", sys.executable)
    ask = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    there = tmp_path / "there"
    try:
        platform = f"manylinux_2_28_{os.uname().machine}"
        wanted = choose.packages(version, platform)
        archive = kit.make(tmp_path / "kit", version, wanted, choose.tags(platform))
    except choose.KitError as problem:
        pytest.fail(str(problem)) if every else pytest.skip(f"no network? {problem}")
    assert archive.stat().st_size < 40_000_000
    subprocess.run([python, "-m", "venv", "--without-pip", there / "torch"], check=True)
    (packages,) = there.glob("torch/lib/python3*/site-packages")
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([python, "-c", LINKS, packages], env=own, check=True)
    subprocess.run(["tar", "xf", archive, "-C", there], check=True)
    chapters = [path.stem for path in files.chapters()] if every else ["06_floating_point_formats"]
    own = {k: v for k, v in os.environ.items() if not k.startswith(("COURSE", "PYTHON", "VIRTUAL"))}
    own |= {"PYTHON": str(there / "torch" / "bin" / "python"), "HOME": "/proc/no-home"}
    subprocess.run([*ALONE, "sh", there / "kit" / "record.sh", *chapters], env=own)
    (found,) = there.glob("kit/recorded-*.tgz")
    subprocess.run(["tar", "xf", found, "-C", tmp_path], check=True)
    for stem in chapters:
        assert list(tmp_path.glob(f"recorded/*/{stem}/claims.json"))
        (page,) = tmp_path.glob(f"build/executed/*/{stem}.ipynb")
        assert set(re.findall(r'"ename": "(\w+)"', page.read_text("utf-8"))) <= {"ClaimError"}
