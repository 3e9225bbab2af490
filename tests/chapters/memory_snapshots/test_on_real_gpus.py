"""What a real GPU is asked, on one that is pretended; and what real ones gave others."""

import torch

from course_utils.chapters.memory_snapshots import on_real_gpus
from course_utils.chapters.memory_snapshots.on_real_gpus import (
    bert_on_3090,
    knobs,
    real_runs,
    reserved_with,
)
from course_utils.core.evidence import published
from course_utils.memory.what_if import Program, Step
from tests.support.real_runs import predicted_run

MiB = 2**20
PROGRAM = Program((Step("alloc", 0, 3 * MiB), Step("free", 0)))


def test_settings_are_tried_where_there_is_a_gpu_each_in_a_new_process(monkeypatch):
    asked = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(on_real_gpus, "reserved_on_gpu", lambda run, text: asked.append(text) or 7)
    cases = knobs(PROGRAM)
    assert {case["predicted_reserved_bytes"] for case in cases} == {20 * MiB}
    assert [reserved_with(case) for case in cases] == [{"reserved_bytes": 7}] * 4
    assert asked == list(on_real_gpus.SETTINGS)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert knobs(PROGRAM) == []


def test_the_kept_prediction_of_a_real_run_is_what_is_predicted_now():
    training, forward = real_runs()
    now = predicted_run("training, FP32")
    assert now["run"] == training["run"]
    assert now["allocated_bytes"] == training["allocated_bytes"]
    assert training["workspaces"] == forward["workspaces"] == 2
    assert -0.5 < training["off_percent"] < 0 < forward["off_percent"] < 0.5


def test_what_bert_leaves_is_what_was_measured_less_what_would_be_reserved():
    rows = bert_on_3090(published("bert_large_3090").rows)
    assert [round(row["left_mib"]) for row in rows.values()] == [828, 1502, 836, 574]
    for case, row in rows.items():
        measured = {4: 11844, 1: 8330}[row["batch"]]
        assert row["left_mib"] == measured - row["peak_reserved_bytes"] / MiB
        assert ("older" in case) == (row["optimizer"] != "Adam")
