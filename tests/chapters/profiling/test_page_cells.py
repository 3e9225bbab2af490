"""What the page's cells need besides the lesson."""

from types import SimpleNamespace

import numpy as np
import pytest

from course_utils.chapters.profiling import curve, own_times, scratch_file


def event(name, start, end, host=0.0, device=0.0):
    times = SimpleNamespace(start=start, end=end)
    return SimpleNamespace(
        name=name, time_range=times, self_cpu_time_total=host, self_device_time_total=device
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


def test_a_curve_holds_each_value_until_the_next():
    points = curve(np.array([1.0, 1.5]), np.array([3, 7]), end=2.0).values
    assert len(points) == 300 and set(points.values()) == {3, 7}
    assert min(points) == 0 and max(points) == pytest.approx(1000)
    assert max(x for x, y in points.items() if y == 3) == pytest.approx(500, abs=2)


def test_files_of_one_kernel_share_a_folder_of_their_own():
    file = scratch_file("trace.json")
    assert file.parent.is_dir() and scratch_file("other").parent == file.parent
