"""The copies of chapter 2: each gives its rate."""

import pytest
import torch

from course_utils.chapters.async_execution import timed_copies
from course_utils.chapters.async_execution.timed_copies import time_copies


def test_a_case_gives_its_rate_in_gb_per_s(monkeypatch):
    host, gpu = torch.ones(4, 1000, dtype=torch.uint8), torch.zeros(4, 1000, dtype=torch.uint8)
    monkeypatch.setattr(timed_copies, "copy_ends", lambda way, to: (gpu, host))
    seen = []

    def copy_all(targets, sources, later):
        seen.append(later)
        for target, source in zip(targets, sources, strict=True):
            target.copy_(source)

    row = time_copies(copy_all, {"way": "pinned, non_blocking", "to": ""})
    assert gpu.all() and set(seen) == {True}
    assert row["gb_per_s"] == pytest.approx(4000 / 1e9 / row["seconds"])
