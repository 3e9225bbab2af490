"""The published step of DDP: its spans, its messages, and what its host launches."""

import pytest

from course_utils.chapters.data_parallelism.published_step import (
    ddp_messages,
    ddp_spans,
    launches,
)
from course_utils.core.evidence import data, published


def test_the_published_step_has_its_host_its_kernels_and_five_messages():
    spans = ddp_spans()
    assert {span.row for span in spans} == {"host", "kernels", "NCCL"}
    assert [s.note for s in spans if s.label == "all_reduce"][:2] == ["8 MB", "32 MB"]
    assert all(span.seconds >= 0 for span in spans)


def test_the_published_step_is_resnet_50s_and_its_messages_are_all_its_gradients():
    rows = published("ddp_resnet50_nccl").rows
    for step in (1, 2, 3):
        sent = [r for r in rows if r["step"] == step and r["collective"] == "all_reduce"]
        assert sum(r["numbers"] for r in sent) == 25_557_032
        assert all(r["n_bytes"] == 4 * r["numbers"] for r in sent)
    assert all(0 <= r["beside_seconds"] <= r["seconds"] for r in rows)
    assert "MIT" in data("published/ddp_resnet50_step.json")["licence"]


def test_its_messages_and_launches_are_shown_with_their_units():
    assert len(ddp_messages()) == 5
    assert ddp_messages()[0] == {"message": "8.2 MB", "begins at": "107 ms", "takes": "2.5 ms"}
    assert list(launches().values()) == ["900", "237 µs", "43 µs", "13 µs"]


def test_its_launches_and_its_gaps_fill_the_step():
    for row in published("ddp_resnet50_kernels").rows:
        launching = row["launches"] * row["spacing_seconds"]
        assert launching == pytest.approx(row["seconds"], rel=0.05)
        assert row["kernels"] * row["kernel_seconds"] < 0.2 * row["seconds"]
