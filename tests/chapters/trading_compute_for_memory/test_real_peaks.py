"""Published runs beside the planner: how far it is off, and that what explains it is real."""

from dataclasses import replace

import pytest

from course_utils.chapters.trading_compute_for_memory.model_shapes import shape
from course_utils.chapters.trading_compute_for_memory.planner import peak
from course_utils.chapters.trading_compute_for_memory.plans import Plan
from course_utils.chapters.trading_compute_for_memory.real_peaks import (
    also_counted,
    held_against,
    held_against_rows,
    published_runs,
)
from course_utils.core.evidence import published
from course_utils.memory import what_if
from course_utils.memory.allocator.settings import Settings
from course_utils.memory.kept_predictions import predicted
from course_utils.memory.prediction import predict_bytes
from tests.support.llama import Llama
from tests.support.planned_steps import build_of


def test_real_traces_are_within_2_percent_of_the_bare_formula():
    traces = [row for row in held_against() if row["counts"] == "allocated"]
    assert len(traces) == 2
    for row in traces:
        assert abs(row["off_percent"]) <= 2, row["run"]


def test_the_others_are_within_10_percent_once_they_count_the_same():
    rows = held_against()
    assert len(rows) == 4 + len(published("torchtitan_memory").rows)
    for row in rows:
        bound = 10.2 if "64 H200" in row["run"] else 10
        assert abs(row["counted_off_percent"]) <= bound, row["run"]


def test_berts_whole_program_agrees_with_the_formula():
    for row in predicted(model="BERT-Large", capability=[8, 6]):
        several = row["accumulate"] > 1
        plan = Plan(
            shape("BERT-Large"),
            row["batch"],
            recipe="FP32",
            accumulates=several,
            optimizer=row["optimizer"],
            capability=(8, 6),
        )
        assert peak(plan).total == pytest.approx(row["peak_allocated_bytes"], rel=0.01)


def test_what_torchtitan_reserves_is_more_than_it_hands_out_by_half_the_logits():
    model = replace(
        shape("Llama 3.2 1B"), layers=4, width=512, heads=8, kv_heads=4, hidden=1536,
        vocabulary=32_000, context=512, tied=False,
    )  # fmt: skip
    plan = Plan(model, 8, recipe="pure BF16", checkpointing="selective", in_backward=True)
    program = predict_bytes(build_of(model, plan, Llama), steps=2).program
    found = what_if.run(program, Settings.parse("expandable_segments:True"))
    hole = (found.peak_reserved - found.peak_allocated) / (4 * plan.tokens * model.vocabulary)
    assert 0.45 < hole < 1.1


def test_a_compiled_loss_leaves_no_hole_and_a_snapshot_counts_nothing_more():
    compiled = next(run for run in published_runs() if run.plan.compiled_loss)
    assert also_counted(compiled)["the hole of the 16-bit logits"] == 0
    traced = next(run for run in published_runs() if run.counts == "allocated")
    assert also_counted(traced) == {}


def test_the_table_picks_rows_and_says_signs():
    rows = held_against_rows(lambda row: row["counts"] == "context")
    assert len(rows) == 2 and all(row["off"].startswith("-") for row in rows)
