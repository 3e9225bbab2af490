"""Chapters also run elsewhere: one thread, read-only data, no display, bad files.

`make test` does that with one chapter and with those that changed lately, `make test-all` with all.
"""

import os
import shutil
import stat

import pytest

from course_utils.cli import notebooks
from course_utils.core import files

CHAPTERS = files.chapters()
ALWAYS = "06_floating_point_formats"
RUNS = [
    pytest.param(path, marks=[] if path.stem == ALWAYS else [pytest.mark.thorough], id=path.stem)
    for path in CHAPTERS
]


@pytest.fixture
def read_only_copy(tmp_path):
    """The project, elsewhere, its data folder read-only (a real user can't write; root can)."""
    shutil.copytree(files.ROOT / "course_utils", tmp_path / "course_utils")
    shutil.copytree(files.NOTEBOOKS, tmp_path / "notebooks")
    shutil.copytree(files.DATA, tmp_path / "data")
    for chapter in CHAPTERS:
        broken = tmp_path / "data" / "recorded" / "broken" / chapter.stem
        broken.mkdir(parents=True)
        (broken / "claims.json").write_text('{"version": 1, "rows"')
    folders = [p for p in (tmp_path / "data").rglob("*") if p.is_dir()] + [tmp_path / "data"]
    for folder in folders:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    yield tmp_path
    for folder in folders:
        folder.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("path", RUNS)
def test_a_chapter_runs_in_another_place_with_one_thread(path, read_only_copy, monkeypatch):
    monkeypatch.setattr(files, "ROOT", read_only_copy)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("MPLBACKEND", raising=False)
    elsewhere = read_only_copy / "elsewhere"
    elsewhere.mkdir()
    copy = elsewhere / path.name
    shutil.copy(read_only_copy / "notebooks" / path.name, copy)
    _, failed = notebooks.run(copy, stop_at_error=True)
    assert failed == []
    assert os.listdir(elsewhere) == [path.name]


@pytest.mark.thorough("notebooks/04", "course_utils/chapters/compile_and_graphs")
def test_the_chapter_that_compiles_runs_without_a_compiler_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "/nowhere/c++")
    path = files.chapter_path("04")
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    notebook, failed = notebooks.run(copy, stop_at_error=False)
    assert failed == []
    said = "".join(o.text for c in notebook.cells for o in c.get("outputs", []) if "text" in o)
    assert "torch.compile doesn't work here (no C++ compiler was found)" in said
    assert "GELU as five operators makes 11 passes" in said
    assert "compiled GELU only its input" not in said
    assert "GELU, compiled" not in said
