"""The two commands and the files behind them: versions that agree, sentences where it can't go."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement

from course_utils.core.files import PACKAGES, ROOT

PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;]+)( ;.*)?$")


def pins(lines):
    found = [PIN.match(line.strip()) for line in lines]
    return {m[1]: m[2] + (m[3] or "") for m in found if m}


REQUIRED = pins((ROOT / "requirements.txt").read_text().splitlines())
CONDA = (ROOT / "environment.yml").read_text()


def test_every_requirement_is_an_exact_pin_that_is_installed_and_that_conda_gets_too():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert all(PIN.match(line) for line in lines if line and not line.startswith("#"))
    of_torch = ("nvidia", "cuda")  # but for NVML in Python
    assert not any(name.startswith(of_torch) for name in REQUIRED.keys() - {"nvidia-ml-py"})
    for name in ("torch", "numpy", "matplotlib", "jupyterlab", "nbval", "import-linter"):
        assert version(name).split("+")[0] == REQUIRED[name]
    inside = pins(line.strip(' -"') for line in CONDA.splitlines())
    assert inside == REQUIRED


@pytest.mark.thorough("requirements.txt")
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_pins_have_wheels_for_this_python(python, tmp_path):
    """Resolves all pins as they are installed, without what they ask for; downloads nothing."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--no-deps", "--quiet"]
    where = ["--python-version", python, "--target", str(tmp_path), "-r", "requirements.txt"]
    only = ["--only-binary", ":all:"]
    done = subprocess.run([*command, *where, *only], cwd=ROOT, capture_output=True, text=True)
    if "error sending request" in done.stderr or "dns error" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def project(tmp_path):
    """A folder with the set-up script, and requirements that need no network."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "setup.sh", tmp_path / "tools")
    (tmp_path / "requirements.txt").write_text("torch==0.0.0\n")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "packages" / "one").mkdir(parents=True)
    (tmp_path / "packages" / "one" / "pyproject.toml").write_text("")
    (tmp_path / ".venv").mkdir()
    return tmp_path


def setup(folder, **environment):
    path = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(
        ["sh", "tools/setup.sh"], cwd=folder, env=path, capture_output=True, text=True
    )


def test_a_missing_or_too_old_python_gets_a_sentence_that_says_what_to_install(project):
    done = setup(project, PYTHON="/no/such/python")
    assert done.returncode == 1
    assert "PYTHON=/no/such/python is not a Python 3.11, 3.12 or 3.13" in done.stderr
    tools = project / "bin"
    tools.mkdir()
    for name in ("python3", "python3.13", "python3.12", "python3.11", "python"):
        says = '#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.9.1" && exit\nexit 1\n'
        (tools / name).write_text(says)
        (tools / name).chmod(0o755)
    done = setup(project, PATH=f"{tools}:/usr/bin:/bin")
    assert done.returncode == 1 and "Install one" in done.stderr
    assert "needs Python 3.11, 3.12 or 3.13" in done.stderr and "Python 3.9.1" in done.stderr
    assert not (project / ".venv" / "bin").exists()


@pytest.mark.thorough("tools/setup.sh")
def test_a_moved_folder_gets_a_new_environment_and_a_failed_installation_is_not_taken_for_done(
    project,
):
    (project / ".venv" / "course-stamp").write_text("/elsewhere\nsums")
    done = setup(project, PYTHON=sys.executable, PIP_NO_INDEX="1")
    assert "This folder was moved or copied" in done.stderr
    assert done.returncode == 1 and "Installing torch==0.0.0 failed" in done.stderr
    assert not (project / ".venv" / "course-stamp").exists()


def test_an_up_to_date_environment_is_left_alone(project):
    (project / ".venv" / "bin").mkdir()
    (project / ".venv" / "bin" / "python").symlink_to(sys.executable)
    command = ["cksum", "requirements.txt", "pyproject.toml", "packages/one/pyproject.toml"]
    sums = subprocess.run(command, cwd=project, capture_output=True, text=True)
    (project / ".venv" / "course-stamp").write_text(f"{project.resolve()}\n{sums.stdout}")
    done = setup(project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_folder_of_the_library_stands_where_a_newcomer_looks_for_it():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    folders = [path.parent.name for path in (ROOT / "course_utils").glob("*/__init__.py")]
    folders += [path.name for path in PACKAGES]
    assert [name for name in sorted(folders) if not re.search(f"`{name}[`/]", text)] == []


def test_every_module_of_the_library_begins_with_a_sentence_on_what_it_is_for():
    first = {
        path.name: (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0]
        for folder in ("course_utils", "packages")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "__init__.py" or "tests" not in path.parts
    }
    assert [name for name, said in first.items() if not said.endswith((".", ":", "?"))] == []


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: path.name)
def test_a_package_needs_nothing_that_isnt_pinned_and_every_way_to_install_has_it(folder):
    stated = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    tests = stated["optional-dependencies"]["test"]
    beside = {path.name.replace("_", "-") for path in PACKAGES}
    for one in map(Requirement, {*stated["dependencies"], *tests} - beside):
        assert one.specifier.contains(REQUIRED[one.name.replace("_", "-")])
    where = f"-e packages/{folder.name}"
    assert where in CONDA and where in (ROOT / "docs" / "installing.md").read_text()


@pytest.mark.thorough("packages")
@pytest.mark.parametrize(
    "folders, program",
    [
        (["notebook_ranks"], "package.run_cell('print(rank)', 2); package.stop()"),
        (["snapshots_and_traces"], "assert '<script' in package.snapshot_page(sys.argv[1]).html"),
        (
            ["training_diagnosis", "snapshots_and_traces"],
            "assert package.watch(lambda: None, try_changes=False).verdict == 'no steps found'",
        ),
    ],
)
def test_a_package_works_where_nothing_of_the_course_is(folders, program, tmp_path):
    """Built as pip builds it, which leaves out its tests and keeps what its pages are made of."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    for folder in folders:
        source = shutil.copytree(ROOT / "packages" / folder, tmp_path / folder)
        where = ["--no-build-isolation", "--target", str(tmp_path / "there"), str(source)]
        subprocess.run([*command, *where], check=True)
        built = tmp_path / "there" / folder
        assert built.is_dir() and not (built / "tests").exists()
    code = (
        f"import sys, {folders[0]} as package; assert 'course_utils' not in sys.modules; {program}"
    )
    code = f"{code}; assert package.__file__.startswith({str(tmp_path / 'there')!r})"
    own = {**os.environ, "PYTHONPATH": str(tmp_path / "there")}
    snapshot = next((ROOT / "data" / "snapshots").glob("*.pickle"))
    subprocess.run([sys.executable, "-c", code, snapshot], cwd=tmp_path, env=own, check=True)
