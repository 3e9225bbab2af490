"""The copies of chapter 2: every case once, each with its tensors where its row says they are."""

import pytest
import torch

from course_utils.chapters.async_execution import timed_copies
from course_utils.chapters.async_execution.timed_copies import copy_cases, copy_ends


def test_every_way_is_taken_in_both_directions_by_large_and_small():
    cases = copy_cases()
    assert len({tuple(case.values()) for case in cases}) == len(cases) == 2 * 2 * 4


@pytest.mark.parametrize("case", copy_cases(), ids=lambda case: " · ".join(case.values()))
def test_a_case_has_as_many_bytes_and_lies_where_its_row_says(case, monkeypatch):
    made = []

    def ones(shape, dtype, device="cpu", pin_memory=False):
        made.append((device, pin_memory))
        return torch.empty(shape, dtype=dtype, device="meta")

    monkeypatch.setattr(torch, "ones", ones)
    targets, sources = copy_ends(**case)
    assert sorted(made) == [("cpu", "pageable" not in case["way"]), ("cuda", False)]
    count, n_bytes = (1, 2**28) if "256 MiB" in case["way"] else (1000, 4000)
    assert [len(t) for t in (targets, sources)] == [count, count]
    assert targets[0].nbytes == sources[0].nbytes == n_bytes


def test_the_gpu_has_the_targets_of_copies_to_it(monkeypatch):
    monkeypatch.setattr(torch, "ones", lambda shape, dtype, device="cpu", pin_memory=False: device)
    assert copy_ends("pinned", "GPU") == ("cuda", "cpu")
    assert copy_ends("256 MiB, pinned", "host") == ("cpu", "cuda")


def test_a_case_is_timed_with_its_own_ends_and_gives_its_rate(monkeypatch):
    host, gpu = torch.ones(4, 1000, dtype=torch.uint8), torch.zeros(4, 1000, dtype=torch.uint8)
    monkeypatch.setattr(timed_copies, "copy_ends", lambda way, to: (gpu, host))
    seen = []

    def copy_all(targets, sources, later):
        seen.append(later)
        assert len(targets) == len(sources) == 4
        for target, source in zip(targets, sources, strict=True):
            target.copy_(source)

    row = timed_copies.time_copies(copy_all, {"way": "pinned, non_blocking", "to": ""})
    assert gpu.all() and {*seen} == {True}
    assert row["gb_per_s"] == pytest.approx(4000 / 1e9 / row["seconds"])
