"""What a change can reach: the tests that `make test CHANGED=1` chooses."""

import os
import subprocess

import pytest

from course_utils.core.files import ROOT
from tools import affected

FORMATS = "06_floating_point_formats"
RANKS = "packages/notebook_ranks/notebook_ranks"
VIEWER = "packages/snapshots_and_traces/snapshots_and_traces/snapshot_viewer"


def test_a_changed_room_reaches_its_chapter_and_no_other():
    reached = affected.reached_by(["course_utils/chapters/floating_point_formats/formats.py"])
    pages = [path for path in reached if path.startswith("notebooks/")]
    assert pages == [f"notebooks/{FORMATS}.ipynb", f"notebooks/solutions/{FORMATS}.ipynb"]
    assert "tests/pages/test_answers.py" in reached
    assert f"{RANKS}/tests/test_session.py" not in reached


@pytest.mark.parametrize(
    "changed, reached",
    [
        ("course_utils/workloads/gpt.py", "notebooks/07_mixed_precision.ipynb"),
        (f"{RANKS}/page/magic.py", "notebooks/11_collectives.ipynb"),
        (f"{RANKS}/session.py", f"{RANKS}/tests/test_session.py"),
        (f"{VIEWER}/icicle.js", "notebooks/09_memory_snapshots.ipynb"),
        ("course_utils/chapters/collectives/exercises.py", "notebooks/11_collectives.ipynb"),
        ("tests/chapters/collectives/wrong_answers.py", "tests/pages/test_answers.py"),
        ("tests/memory/conftest.py", "tests/memory/views/test_views.py"),
        ("notebooks/02_async_execution.ipynb", "tests/pages/conditions/test_conditions.py"),
        ("README.md", "tests/install/test_front_page.py"),
        ("tools/new/templates/page.txt", "tests/tools/test_new.py"),
    ],
)
def test_what_uses_a_file_in_whatever_way_is_reached(changed, reached):
    assert reached in affected.reached_by([changed])


WRONG = sorted((ROOT / "tests/chapters").glob("*/wrong_*.py"))


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.parent.name)
def test_wrong_answers_reach_the_test_of_answers(path):
    reached = affected.reached_by([path.relative_to(ROOT).as_posix()])
    assert "tests/pages/test_answers.py" in reached


def test_another_chapters_checker_is_not_run():
    reached = affected.reached_by(["course_utils/chapters/collectives/exercises.py"])
    assert f"notebooks/{FORMATS}.ipynb" not in reached


@pytest.mark.parametrize("path", ["requirements.txt", "data/published.json", "tests/conftest.py"])
def test_pins_data_and_fixtures_reach_everything(path):
    assert affected.reached_by([path]) is None


def test_every_room_is_reached_by_some_test_or_chapter():
    folders = (ROOT / "course_utils", ROOT / "packages")
    rooms = [p.relative_to(ROOT).as_posix() for folder in folders for p in folder.rglob("*.py")]
    lonely = [
        room
        for room in rooms
        if "__" not in room
        and "/tests/" not in room
        and affected.reached_by([room]) == [affected.HOUSE]
    ]
    assert lonely == []


def test_what_changed_lately_is_what_differs_from_the_commit_before_that_time(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(affected, "ROOT", tmp_path)
    assert affected.lately_changed(12) == []  # no git checkout
    for command in ("init", "config user.name a", "config user.email a@b"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True, capture_output=True)
    page = '{"cells": [{"cell_type": "code", "source": ["%s"]}], "metadata": "%s"}'
    for name, day in (("old", 1), ("new", 3)):
        (tmp_path / name).touch()
        (tmp_path / "reworded.ipynb").write_text(page % ("x", name))
        (tmp_path / "recoded.ipynb").write_text(page % (name, name))
        dates = {f"GIT_{who}_DATE": f"2026-01-0{day}T12:00:00" for who in ("AUTHOR", "COMMITTER")}
        for command in (["add", "."], ["commit", "-m", name]):
            own = {**os.environ, **dates}
            subprocess.run(
                ["git", *command], cwd=tmp_path, env=own, check=True, capture_output=True
            )
    (tmp_path / "not committed").touch()
    assert affected.lately_changed(12) == ["new", "not committed", "recoded.ipynb"]
    assert affected.lately_changed(12, "HEAD") == ["not committed"]
    everything = ["new", "not committed", "old", "recoded.ipynb", "reworded.ipynb"]
    assert affected.lately_changed(96) == everything  # all of it is younger
    subprocess.run(["git", "clone", "--depth", "1", f"file://{tmp_path}", "cut"], cwd=tmp_path)
    monkeypatch.setattr(affected, "ROOT", tmp_path / "cut")
    assert affected.lately_changed(12) == [] and "cut off" in capsys.readouterr().out
