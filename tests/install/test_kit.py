"""The kit: the right wheels, a sentence where it can't go, one archive to carry home.

COURSE_KIT=1 also makes a kit (20 MB of downloads) and records a chapter with it, without a
network, beside a torch that has no Jupyter; COURSE_KIT=all records every chapter.
COURSE_KIT_PYTHON names a Python of a venv whose torch that is; without it, it is this one.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

import pytest

from course_utils.core import files
from course_utils.core.files import ROOT
from tools.kit import __main__ as kit
from tools.kit import choose, target

LINUX = "manylinux_2_28_x86_64"
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
RUNS_PAGES = {"nbclient", "ipykernel", "ipywidgets", "anywidget", "gfloat", "ml-dtypes", "d2l"}


def test_needs_are_followed_to_any_distance_with_extras_and_the_targets_own_markers():
    states = {
        "a": ["b>=2", "c; python_version < '3.12'", "d; sys_platform == 'win32'"],
        "b": ["e[fast]", "a"],
        "e": ["f; extra == 'fast'", "g; extra == 'slow'"],
    }
    where = choose.environment("3.12", LINUX)
    assert choose.closed(["a"], where, lambda name: states.get(name, [])) == {"a", "b", "e", "f"}


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_a_kit_has_what_runs_pages_at_the_pinned_versions_and_nothing_of_torchs(python):
    chosen = choose.packages(python, LINUX)
    assert set(chosen) > RUNS_PAGES
    assert not {"torch", "numpy", "sympy", "pillow", "matplotlib", "pandas"} & set(chosen)
    assert not {"jupyterlab", "nbconvert", "pytest", "nbval", "ruff", "playwright"} & set(chosen)
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = {line.split(" ;")[0] for line in lines}
    assert {f"{name}=={version}" for name, version in chosen.items()} <= pins


def test_what_the_target_has_is_left_out_and_what_it_lacks_comes_along():
    usual = set(choose.packages("3.12", LINUX))
    assert usual - set(choose.packages("3.12", LINUX, has=["ipykernel"])) >= {"ipykernel", "pyzmq"}
    more = set(choose.packages("3.12", LINUX, lacks=["matplotlib"])) - usual
    assert {"matplotlib", "contourpy"} <= more and not {"numpy", "torch", "pillow"} & more


def test_older_platforms_wheels_are_good_too():
    tags = choose.tags("manylinux_2_18_aarch64")
    assert tags[:3] == ["manylinux_2_18_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"]
    assert tags[-1] == "manylinux1_aarch64"


@pytest.mark.parametrize(
    "options, said",
    [
        (["--python", "3.10"], "The course needs Python >=3.11,<3.14, so there is no kit for 3.10"),
        (["--platform", "win_amd64"], "'win_amd64' is no platform that a kit is made for. Give"),
        (["--has", "jupiter"], "jupiter is no package of the course: see requirements.txt."),
        (["--lacks", "torch"], "A kit holds no torch: the target needs its own"),
    ],
)
def test_what_no_kit_can_be_made_for_is_a_sentence(options, said, tmp_path, capsys):
    assert kit.main([*options, "--to", str(tmp_path / "kit")]) == 1
    assert capsys.readouterr().err.startswith(said) and os.listdir(tmp_path) == []


def wheel(path, **members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in members.items():
            packed.writestr(name.replace("__", "/").replace("_", "."), text)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A folder with a kit of this course that has one small wheel, and its archive."""

    def download(wanted, to, python, tags):
        wheel(to / "small-1-py3-none-any.whl", small_py="1", small_data__data__share__x="2")

    if not (ROOT / ".git").exists():
        pytest.skip("a kit is made in a git checkout")
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kit, "download", download)
        kit.make(folder / "kit", HERE, f"manylinux_2_28_{os.uname().machine}")
    return folder


@pytest.fixture
def made(made_once, tmp_path):
    """A copy of that kit, for this Python."""
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "kit"


def test_a_kit_is_the_course_its_commit_and_the_wheels_in_one_archive(made):
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert (made / "COMMIT").read_text().rstrip("+\n") == head.stdout.strip()
    for path in (
        "course_utils/core/recording.py",
        "data/experiments.json",
        "notebooks/00_index.ipynb",
    ):
        assert (made / path).read_bytes() == (ROOT / path).read_bytes()
    assert not (made / "tests").exists() and (made / "target" / "PYTHON").read_text() == f"{HERE}\n"
    with tarfile.open(made.with_name("kit.tgz")) as packed:
        names = packed.getnames()
    assert {"kit/record.sh", "kit/wheels/small-1-py3-none-any.whl"} < set(names)
    assert sorted(os.listdir(made.parent)) == ["kit", "kit.tgz"]  # and no half of either


def test_an_archive_too_large_is_named_with_its_largest_wheels(made):
    said = r"would have \d+ MB, over its 0 MB. The largest wheels, in MB: small 0. .*--has"
    with pytest.raises(kit.KitError, match=said):
        kit.pack(made, limit_bytes=1000)


def stub_python(folder, name, version="3.12", torch=True):
    """A `python` that says of itself what record.sh asks, and prints what it is told to run."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(
        f'#!/bin/sh\ncase "$2" in *version_info*) echo {version};; '
        f'*find_spec*) exit {0 if torch else 1};; *) echo "{name} runs $@";; esac\n'
    )
    (folder / name).chmod(0o755)


@pytest.fixture
def on_target(tmp_path):
    """Runs the record.sh of a kit for Python 3.12, where only the Pythons of `bin` are."""
    home = tmp_path / "a kit"
    (home / "target").mkdir(parents=True)
    (home / "target" / "PYTHON").write_text("3.12\n")
    shutil.copy(ROOT / "tools" / "kit" / "record.sh", home)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("cat", "dirname"):
        (tools / name).symlink_to(shutil.which(name))

    def run(*arguments, **environment):
        command = [shutil.which("sh"), str(home / "record.sh"), *arguments]
        environment = {"PATH": str(tools), **environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    run.bin = tools
    return run


def test_the_first_python_that_has_torch_and_fits_is_taken_and_arguments_pass(on_target):
    stub_python(on_target.bin, "python3", "3.11")
    stub_python(on_target.bin, "python", "3.12", torch=False)
    stub_python(on_target.bin, "python3.12")
    done = on_target("--minutes", "9", "02 x")
    said = "python3.12 runs tools/kit/target.py --minutes 9 02 x\n"
    assert (done.stdout, done.stderr, done.returncode) == (said, "", 0)


@pytest.mark.parametrize(
    "python, said",
    [
        (None, "No Python runs here as python3. Point PYTHON at the Python 3.12 that has torch"),
        (("3.12", False), "python3 (Python 3.12) has no torch. Load the module or the environment"),
        (("3.11", True), "python3 is Python 3.11, and this kit is for 3.12. Point PYTHON at a"),
        (("3.9", True), "python3 is Python 3.9; the course needs 3.11, 3.12 or 3.13, and this kit"),
    ],
)
def test_a_python_that_does_not_fit_is_one_sentence_that_says_what_to_do(on_target, python, said):
    if python:
        stub_python(on_target.bin, "python3", *python)
    done = on_target()
    assert done.returncode == 1 and done.stderr.startswith(said) and not done.stdout
    assert len(done.stderr.splitlines()) == 1


def test_the_kit_to_make_for_the_python_that_is_there_is_said(on_target):
    stub_python(on_target.bin, "mine", "3.13")
    done = on_target(PYTHON="mine")
    assert 'make kit ARGS="--python 3.13".' in done.stderr


FAKE_TORCH = """
__version__ = "{version}"
class cuda:
    device_count = staticmethod(lambda: {gpus})
    get_device_name = staticmethod(lambda n: "NVIDIA H200")
"""
FAKE_RECORD = """
import pathlib, sys, time
kept = pathlib.Path("recorded/h200-x1/02/speed.json")
kept.parent.mkdir(parents=True, exist_ok=True)
kept.write_text("{}")
(kept.parent / ".half.json.x1").write_text("{")
print(sys.argv[1:], flush=True)
time.sleep(60 if "wait" in sys.argv else 0)
sys.exit(1 if "fail" in sys.argv else 0)
"""


@pytest.fixture
def ready(made, tmp_path):
    """Starts the kit on a torch with a GPU, both pretended; its recording is pretended too."""
    (tmp_path / "torch.py").write_text(FAKE_TORCH.format(version="2.11.0", gpus=1))
    for name in target.TRIED:
        (tmp_path / f"{name}.py").write_text("")
    shutil.rmtree(made / "course_utils")
    (made / "course_utils").mkdir()
    (made / "course_utils" / "__init__.py").write_text("")
    (made / "course_utils" / "__main__.py").write_text(FAKE_RECORD)

    def start(*arguments):
        command = ["sh", str(made / "record.sh"), *arguments]
        own = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(tmp_path)}
        return subprocess.Popen(
            command, env=own, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    return start


def test_one_archive_is_left_to_carry_home_and_a_second_run_needs_no_unpacking(ready, made):
    said, errors = (running := ready("02", "--minutes", "9")).communicate(timeout=60)
    assert running.returncode == 0, errors
    assert f"torch 2.11.0, NVIDIA H200\nUnpacked 1 packages beside torch, in {made}/site" in said
    assert "['record', '--to', 'recorded', '02', '--minutes', '9']" in said
    (archive,) = made.glob("recorded-h200-x1-*.tgz")
    assert f"To carry home: {archive}" in said and f"tar xzf {archive.name} -C data" in said
    with tarfile.open(archive) as packed:
        assert packed.getnames() == ["recorded/h200-x1/02/speed.json"]
    assert (made / "site" / "share" / "x").read_text() == "2"
    again, _ = ready("fail").communicate(timeout=60)
    assert "Unpacked" not in again and "To carry home" in again


def test_a_recording_that_failed_is_packed_and_its_status_kept(ready, made):
    said, _ = (running := ready("fail")).communicate(timeout=60)
    assert running.returncode == 1 and "To carry home" in said and "is full" not in said


def test_a_disk_that_fills_while_recording_is_named(made, capsys, monkeypatch):
    usage = shutil.disk_usage(made)._replace(free=0)
    monkeypatch.setattr(target, "KIT", made)
    for step in ("look", "unpack", "own_environment", "try_wheels"):
        monkeypatch.setattr(target, step, lambda *_: None)
    monkeypatch.setattr(target, "record", lambda *_: 1)
    monkeypatch.setattr(target.shutil, "disk_usage", lambda path: usage)
    assert target.main([]) == 1
    assert f"The disk under {made} is full. Make room" in capsys.readouterr().out


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_recording_that_is_stopped_is_packed_too(ready, made, end, monkeypatch):
    running = ready("wait")
    until = time.monotonic() + 60
    while not list(made.glob("recorded/*/*/speed.json")):
        assert time.monotonic() < until and running.poll() is None, running.communicate()
        time.sleep(0.1)
    running.send_signal(end)
    said, errors = running.communicate(timeout=60)
    assert running.returncode == 128 + end and not errors
    assert "Recording was stopped. Run record.sh again and it goes on." in said
    assert len(list(made.glob("recorded-h200-x1-*.tgz"))) == 1


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("torch.py", "import lib_cudnn_nine", "a torch that doesn't load (ModuleNotFoundError: "),
        ("gfloat.py", "1 / 0", "The kit's packages don't load here (ZeroDivisionError: division"),
        ("kit/target/MACHINE", "sparc", "and the kit for sparc. At home: make kit ARGS="),
        ("kit/target/NEEDED", "torch nompy", "has no nompy. Load what has it, or at home: make"),
    ],
)
def test_what_is_missing_on_the_target_is_said_before_anything_runs(ready, made, name, text, said):
    (made.parent / name).write_text(text)
    _, errors = (running := ready()).communicate(timeout=60)
    assert running.returncode == 1 and said in errors and len(errors.splitlines()) == 1
    assert not (made / "recorded").exists()


def test_no_gpu_and_an_old_torch_are_said_and_it_goes_on(ready, made):
    (made.parent / "torch.py").write_text(FAKE_TORCH.format(version="2.9.1", gpus=0))
    (made / "target" / "USEFUL").write_text("pandaz")
    said, _ = (running := ready()).communicate(timeout=60)
    assert running.returncode == 0
    assert "torch sees no GPU here, so this processor is recorded." in said
    assert "The course wants torch 2.11: some cells will fail." in said
    assert "Without pandaz the comparisons with d2l are skipped." in said


def test_a_full_disk_and_a_folder_that_cannot_be_written_are_sentences(made, monkeypatch):
    usage = shutil.disk_usage(made)._replace(free=5_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: usage)
        with pytest.raises(target.CannotRecord, match=r"has 5 MB left, and recording needs 100\."):
            target.unpack(made)
    with pytest.raises(target.CannotRecord, match=r"can't be written \(.*Copy the kit to a folder"):
        target.unpack(made / "COMMIT")


def test_where_the_archive_cannot_be_written_what_was_measured_is_named(made, capsys, monkeypatch):
    (made / "recorded" / "m").mkdir(parents=True)
    (made / "recorded" / "m" / "x.json").write_text("{}")
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(target.tarfile, "open", lambda *_: (_ for _ in ()).throw(full))
    assert target.pack(made) is None
    said = capsys.readouterr().out
    assert "(No space left on device)" in said and f"{made}/recorded and {made}/build" in said


def test_with_nothing_recorded_nothing_is_packed(made, capsys):
    assert target.pack(made) is None
    assert "Nothing was recorded" in capsys.readouterr().out


LINKS = """
import json, sys
from importlib import metadata
from tools.kit import choose
def parts(name):
    try:
        dist = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    for file in dist.files or ():
        if file.parts[0] not in ("..", "__pycache__"):
            yield str(dist.locate_file(file.parts[0]))
names = choose.closed(choose.assumed(), choose.default_environment())
print(json.dumps(sorted({part for name in names for part in parts(name)})))
"""


def bare_target(folder, python):
    """A venv with nothing but links to the torch of another, and to what comes with it."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [python, "-c", LINKS], env=own, capture_output=True, text=True, check=True
    )
    (site,) = folder.glob("lib/python3*/site-packages")
    for path in json.loads(said.stdout):
        (site / os.path.basename(path)).symlink_to(path)
    return folder / "bin" / "python"


ALONE = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@pytest.fixture
def without_network():
    """The beginning of a command that then has no network but the machine's own."""
    if not shutil.which("unshare"):
        pytest.skip("a program can't be cut off from the network here: no unshare")
    done = subprocess.run([*ALONE, "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a program can't be cut off from the network here: {done.stderr.strip()}")
    return ALONE


@pytest.mark.skipif("COURSE_KIT" not in os.environ, reason="20 MB of downloads: set COURSE_KIT=1")
def test_the_kit_records_beside_a_torch_without_jupyter_or_a_network(tmp_path, without_network):
    python = os.environ.get("COURSE_KIT_PYTHON", sys.executable)
    ask = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    archive = kit.make(tmp_path / "kit", version, f"manylinux_2_28_{os.uname().machine}")
    assert archive.stat().st_size < 40_000_000
    theirs = bare_target(tmp_path / "target", python)
    before = files_below(tmp_path / "target")
    there = tmp_path / "there"
    there.mkdir()
    subprocess.run(["tar", "xzf", archive, "-C", there], check=True)
    every = os.environ["COURSE_KIT"] == "all"
    chapters = [path.stem for path in files.chapters()] if every else ["06_floating_point_formats"]
    own = {k: v for k, v in os.environ.items() if not k.startswith(("COURSE", "PYTHON", "VIRTUAL"))}
    own |= {"PYTHON": str(theirs), "HOME": "/proc/no-home"}
    command = [*without_network, "sh", str(there / "kit" / "record.sh"), *chapters]
    start = time.monotonic()
    done = subprocess.run(command, env=own, capture_output=True, text=True)
    print(f"{done.stdout}{done.stderr}{time.monotonic() - start:.0f} s")
    (found,) = there.glob("kit/recorded-*.tgz")
    subprocess.run(["tar", "xzf", found, "-C", tmp_path], check=True)
    for stem in chapters:
        assert list(tmp_path.glob(f"recorded/*/{stem}/claims.json"))
        (page,) = tmp_path.glob(f"build/executed/*/{stem}.ipynb")
        assert [e for e in errors_of(page) if e != "ClaimError"] == []
    assert files_below(tmp_path / "target") == before


def files_below(folder):
    """What is in a venv, without what Python keeps of any module that it reads."""
    return sorted(str(path) for path in folder.rglob("*") if "__pycache__" not in path.parts)


def errors_of(page):
    """The names of the errors in an executed notebook's outputs; a claim's is ClaimError."""
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return [output["ename"] for output in outputs if output["output_type"] == "error"]
