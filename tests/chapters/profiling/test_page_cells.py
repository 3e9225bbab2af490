"""What the page's cells need besides the lesson."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from course_utils.chapters.profiling import (
    as_printed,
    busy_core,
    curve,
    half,
    mean_level,
    own_times,
    published_tips,
    scratch_file,
    untried_tips,
)
from course_utils.core.measurement import Measurement


def event(name, start, end, host=0.0, device=0.0, on="CPU"):
    return SimpleNamespace(
        name=name,
        time_range=SimpleNamespace(start=start, end=end),
        self_cpu_time_total=host,
        self_device_time_total=device,
        device_type=SimpleNamespace(name=on),
    )


STEPS = [event("ProfilerStep#1", 0, 100), event("ProfilerStep#2", 100, 200)]


def test_an_operator_takes_what_it_took_in_its_quickest_step():
    disturbed = [event("aten::add", 10, 60, host=50), event("aten::add", 110, 114, host=4)]
    products = [event("aten::mm", start, start + 9, host=9) for start in (70, 80, 120, 130)]
    found = own_times([*STEPS, *disturbed, *products, event("backward", 5, 95, host=90)])
    assert list(found.items()) == [("aten::mm", 18.0), ("aten::add", 4.0)]


def test_kernels_count_where_any_were_seen():
    events = [event("aten::mm", 10, 20, host=9, device=2), event("aten::view", 30, 31, host=1)]
    assert own_times([STEPS[0], *events]) == {"aten::mm": 2.0, "aten::view": 0.0}


def test_a_step_as_a_gpu_marks_it_is_none_of_the_hosts():
    late = event("ProfilerStep#1", 40, 140, on="CUDA")
    embedding = event("aten::embedding", 10, 20, device=2)
    assert own_times([STEPS[0], late, embedding]) == {"aten::embedding": 2.0}


def test_the_mean_of_a_curve_weighs_each_value_by_its_time():
    times, values = np.array([1.0, 1.5, 4.0]), np.array([3, 7, 100])
    assert mean_level(times, values, end=2.0) == pytest.approx(5.0)


def test_a_curve_holds_each_value_until_the_next():
    points = curve(np.array([1.0, 1.5]), np.array([3, 7]), end=2.0).values
    assert len(points) == 300 and set(points.values()) == {3, 7}
    assert min(points) == 0 and max(points) == pytest.approx(1000)
    assert max(x for x, y in points.items() if y == 3) == pytest.approx(500, abs=2)


def test_files_of_one_kernel_share_a_folder_of_their_own():
    file = scratch_file("trace.json")
    assert file.parent.is_dir() and scratch_file("other").parent == file.parent


def test_every_tip_is_tried_published_or_says_what_it_wants():
    published, untried = published_tips(), untried_tips()
    assert {row["tip"]: row["times"] for row in published.rows}["tensor cores (TF32)"] == "2.21"
    assert published.kind == "published" and "LLMs-from-scratch" in published.provenance
    assert all(row["times"].startswith("wants ") for row in untried.rows) and len(untried.rows) > 8


def test_half_of_the_repetitions_is_said_in_words():
    assert half(Measurement((1.0, 2.0, 3.0, 4.0, 5.0), 5, None, "host", "times")) == "≈ 2 to ≈ 4"


def test_a_core_that_works_is_busy_and_one_that_sleeps_is_not():
    assert busy_core(lambda: time.sleep(0.02)) < 0.5
    assert busy_core(lambda: sum(range(200_000))) > busy_core(lambda: time.sleep(0.02))


def test_a_text_is_shown_as_a_terminal_does():
    assert as_printed("  1 ms\n 20 ms").data == "```\n  1 ms\n 20 ms\n```"
