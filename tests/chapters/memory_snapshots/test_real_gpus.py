"""What a real GPU took, beside the course's predictions."""

from course_utils.chapters.memory_snapshots.real_gpus import (
    IDENTIFIES,
    build_of,
    in_gib,
    over_prediction,
    to_measure,
)
from course_utils.core.evidence import Series


def test_steps_that_would_not_fit_are_left_out_with_a_sentence(capsys):
    small = to_measure(every=True, fits=lambda n_bytes: n_bytes < 2**30)
    assert max(row["predicted_reserved_bytes"] for row in small) < 2**30
    said = f"{48 - len(small)} of 48 steps don't fit this GPU: left out.\n"
    assert capsys.readouterr().out == said


def test_misses_are_shown_by_model_as_what_the_gpu_took_more_and_a_row_identifies_its_step():
    row = to_measure(every=False)[0]
    allocated, reserved = row["predicted_allocated_bytes"], row["predicted_reserved_bytes"]
    measured = [
        row | {"allocated_bytes": allocated, "reserved_bytes": part * reserved}
        for part in (1.5, 0.5)
    ]
    (found,) = over_prediction(measured)
    shares = {"allocated, %": "+0.0 to +0.0", "reserved, %": "-50.0 to +50.0"}
    assert found == {"model": row["model"], "steps": 2} | shares
    step = build_of(row).__self__
    assert all(getattr(step, name) == row[name] for name in IDENTIFIES)


def test_sizes_are_shown_in_gib_of_rows_and_of_evidence():
    rows = [{"GPU": "V100", "mb": 1408, "reserved_mb": 0}]
    shown = [{"GPU": "V100", "outside, GiB": "1.31", "reserved, GiB": "0.00"}]
    evidence = Series.of_rows(rows, "published", "published: somebody")
    assert in_gib(rows) == in_gib(evidence).rows == shown
    assert in_gib(None) == over_prediction(None) == []
