"""What the page says of its operators, on events that no profiler disturbs."""

from types import SimpleNamespace

from course_utils.chapters.profiling import own_times


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


def test_kernels_count_where_any_were_seen_and_a_gpus_step_is_none_of_the_hosts():
    late = event("ProfilerStep#1", 40, 140, on="CUDA")
    events = [event("aten::mm", 10, 20, host=9, device=2), event("aten::view", 30, 31, host=1)]
    assert own_times([STEPS[0], late, *events]) == {"aten::mm": 2.0, "aten::view": 0.0}
