"""`make record`: what it finds to do, in which order, and when it stops."""

import json
import shutil
import time
from types import SimpleNamespace

import nbformat
import pytest

from course_utils.cli import notebooks, recording_plan
from course_utils.cli.recording_plan import Visit, make, plan, recordable
from course_utils.core import evidence
from course_utils.core.files import chapter_path, chapters
from tests.support.recordings import CHAPTER, forge, put


def test_what_the_plan_names_are_chapters_and_experiments():
    for chapter, work in evidence.data("recording_plan.json").items():
        assert set(work.get("needs", ())) <= set(evidence.experiments()[chapter]), chapter


def test_an_experiment_is_planned_where_its_gpus_and_one_of_its_programs_are(monkeypatch):
    def found(chapter, *capabilities):
        return set(recordable(chapter, capabilities)) - {"claims"}

    assert "ddp_overlap" not in found("12_data_parallelism", (9, 0))
    assert "ddp_overlap" in found("12_data_parallelism", (9, 0), (9, 0))
    assert found("06_floating_point_formats", (8, 6)) == set()
    assert found("06_floating_point_formats", (8, 9)) == {"fp8_accumulation"}
    assert found("05_input_pipeline") == {"pictures_by_workers"}
    monkeypatch.setattr(shutil, "which", {"deepspeed": "/bin/deepspeed"}.get)
    assert "deepspeed" in found("13_sharding")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "deepspeed" not in found("13_sharding")


def test_chapters_come_in_the_plans_order_with_the_gpus_seconds_where_there_is_one(
    fake_machine, tmp_path
):
    seconds = []
    for gpus in (0, 1):
        fake_machine(gpus=gpus)
        visits = plan(chapters(), tmp_path)
        planned = list(evidence.data("recording_plan.json"))
        assert [visit.path.stem for visit in visits[: len(planned)]] == planned
        assert all(visit.to_do for visit in visits)
        seconds.append(sum(visit.seconds for visit in visits))
    assert 5 * 60 < seconds[0] < 10 * 60 < seconds[1] < 25 * 60


@pytest.mark.parametrize(
    "change, reason",
    [
        (put(0, "missing_rows"), ""),
        (put(2, "missing_rows"), "unfinished"),
        (put("page:0123456789ab", "code"), "older than the page"),
        (put(1, "version"), "of another version, or damaged"),
    ],
)
def test_what_this_page_recorded_whole_is_not_done_again_unless_that_is_asked(
    keep, monkeypatch, change, reason
):
    path = forge(keep("speed"), change)
    monkeypatch.setattr(recording_plan, "_planned", dict)
    (visit,) = plan([chapter_path(CHAPTER)], path.parents[2])
    assert (visit.to_do.get("speed", ""), visit.to_do["claims"]) == (reason, "missing")
    (visit,) = plan([chapter_path(CHAPTER)], path.parents[2], again=True)
    assert set(visit.to_do.values()) == {"to do again"}


def test_a_chapter_that_does_not_fit_is_not_begun_and_a_later_one_that_fits_is(
    monkeypatch, tmp_path, capsys
):
    begun = []
    visits = [
        Visit(chapter_path(name), seconds, {"x": "missing"})
        for name, seconds in (("09", 120), ("02", 100))
    ]
    monkeypatch.setattr(notebooks, "record", lambda path, *_: begun.append(path.stem[:2]) or [])
    monkeypatch.setattr(recording_plan, "plan", lambda *_: visits[:1])
    monkeypatch.setattr(time, "time", lambda: 1e9)
    assert not make(visits, tmp_path, minutes=2)
    assert begun == ["02"]
    said = capsys.readouterr().out
    assert "09_memory_snapshots isn't begun: it takes ≈ 120 s, 110 are left" in said
    assert "Left: 09_memory_snapshots: x" in said and "The same command goes on with that." in said


@pytest.mark.thorough("course_utils/cli", "course_utils/core/recording.py")
def test_a_chapter_that_runs_over_is_stopped_and_what_it_measured_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "executed")
    cells = [
        "from course_utils import start, record; start('02_async_execution')",
        "record('cures', {'a step': 2.0})",
        "import time; time.sleep(600)",
    ]
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in cells])
    path = tmp_path / "02_async_execution.ipynb"
    nbformat.write(page, path)

    def kept():
        return list((tmp_path / "recorded").glob("*/02_async_execution/*"))

    deadline = 1e9  # which the clock shows as soon as the second cell has recorded
    clock = SimpleNamespace(time=lambda: deadline if kept() else 0.0)
    monkeypatch.setattr(notebooks, "time", clock)
    assert notebooks.record(path, tmp_path / "recorded", deadline) == [notebooks.TIME_IS_UP]
    (found,) = kept()
    assert found.name == "cures.json", "nothing half-written"
    assert json.loads(found.read_text())["rows"] == [{"way": "a step", "seconds": 2.0}]
