"""`make record`: what it finds to do, in which order, how long that takes, when it stops."""

import json
import shutil

import pytest

from course_utils.cli import recording_plan
from course_utils.cli.recording_plan import plan, seconds_of, state
from course_utils.core import evidence
from course_utils.core.files import chapters
from course_utils.core.gpus import gpu_specs
from course_utils.core.recording import record
from tests.support.visits import visit


def test_every_experiment_of_the_course_is_planned_and_no_other():
    for chapter, declared in evidence.experiments().items():
        planned = recording_plan.planned_work()[chapter]["experiments"]
        assert set(planned) == set(declared), chapter
        assert all(work["worth"] in (1, 2, 3) for work in planned.values())


def test_on_an_h200_all_chapters_together_are_estimated_at_16_minutes_or_less(
    fake_machine, tmp_path
):
    fake_machine(gpus=1)
    visits = plan(chapters(), tmp_path)
    assert all(visit.to_do for visit in visits)
    assert 120 < sum(visit.seconds for visit in visits) <= 16 * 60


def test_an_experiment_that_names_programs_is_planned_where_one_of_them_is(monkeypatch):
    monkeypatch.setattr(shutil, "which", {"two": "/bin/two"}.get)
    assert recording_plan.has_program({"programs": ["one", "two"]})
    assert not recording_plan.has_program({"programs": ["one"]})
    assert recording_plan.has_program({"worth": 1})


def test_an_estimate_follows_from_operations_bytes_and_processes():
    h200 = gpu_specs("H200")
    assert seconds_of({"flops": {"bf16": 989e12}}, h200) == pytest.approx(1 / 0.5)
    assert seconds_of({"bytes": 4800e9}, h200) == pytest.approx(1 / 0.7)
    assert seconds_of({"link_bytes": 64e9 * 0.7}, h200) == pytest.approx(1)
    assert seconds_of({"processes": 2, "seconds": 1}, h200) == 13
    assert seconds_of({"flops": {"bf16": 1e15}, "seconds": 1}, None) == 1
    t4 = gpu_specs("T4")
    assert seconds_of({"flops": {"bf16": 8.1e12}}, t4) == pytest.approx(2), "no BF16: as FP32"


def test_what_gives_the_most_for_its_time_comes_first(monkeypatch, tmp_path):
    made = {"01": visit("01", 3, 90), "02": visit("02", 3, 10), "06": visit("06", 1, 0, reason="")}
    monkeypatch.setattr(recording_plan, "_visit", lambda path, *_: made[path.stem[:2]])
    order = [v.path.stem[:2] for v in plan([v.path for v in made.values()], tmp_path)]
    assert order == ["02", "01", "06"]


@pytest.fixture
def _recorded(recording, fake_machine, monkeypatch):
    fake_machine(gpus=1)
    for room in ("core.recording", "cli.recording_plan"):
        monkeypatch.setattr(f"course_utils.{room}.code_of", lambda *_: "c0de")
    record("speed", [{"what": "a", "run_seconds": 1.0}])
    return recording / "h200-x1"


def test_an_experiment_is_done_when_this_code_recorded_all_of_it(_recorded, monkeypatch):
    assert state("02_async_execution", "speed", _recorded) == ""
    assert state("02_async_execution", "claims", _recorded) == "missing"
    path = _recorded / "02_async_execution" / "speed.json"
    content = json.loads(path.read_text())
    content["missing_rows"] = 2
    content["sha256"] = evidence.digest({k: v for k, v in content.items() if k != "sha256"})
    path.write_text(json.dumps(content))
    assert state("02_async_execution", "speed", _recorded) == "unfinished"
    path.write_text("{")
    assert state("02_async_execution", "speed", _recorded) == "not readable"


def test_an_experiment_is_to_be_measured_again_when_its_code_changed(_recorded, monkeypatch):
    monkeypatch.setattr(recording_plan, "code_of", lambda *_: "0ther")
    assert state("02_async_execution", "speed", _recorded) == "older than its code"
