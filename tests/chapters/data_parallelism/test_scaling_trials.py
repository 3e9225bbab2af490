"""Scaling as it was recorded and published: efficiencies."""

from course_utils.chapters.data_parallelism import scaling_trials
from course_utils.chapters.data_parallelism.scaling_trials import gpu_efficiency


def test_a_gpus_efficiency_comes_from_rows_of_equal_batches():
    rows = [
        {"gpus": n, "batch": batch, "tokens_per_s": rate}
        for n, batch, rate in ((1, 8, 100.0), (2, 8, 150.0), (4, 8, 400.0), (1, 4, 60.0))
    ]
    assert gpu_efficiency(rows) == {1: 1.0, 2: 0.75, 4: 1.0}
    assert gpu_efficiency(rows[:1]) == gpu_efficiency(rows[1:3]) == gpu_efficiency([]) == {}


def test_a_step_takes_the_time_of_all_timed_steps_over_their_number(monkeypatch):
    """A clock that goes on by a second for each all_reduce, and ranks of which there is one."""
    clock = [0.0]
    monkeypatch.setattr(scaling_trials.dist, "barrier", lambda: None)
    monkeypatch.setattr(scaling_trials.dist, "get_world_size", lambda: 1)
    monkeypatch.setattr(
        scaling_trials.dist, "all_reduce", lambda _: clock.__setitem__(0, clock[0] + 1)
    )
    monkeypatch.setattr(scaling_trials.time, "perf_counter", lambda: clock[0])
    assert scaling_trials.step_seconds(batch=2, steps=4) == 1
