"""The peaks that chapter 9 shows by model: predicted, kept, measured."""

from course_utils.chapters.memory_snapshots.peak_by_model import (
    IDENTIFIES,
    build_of,
    in_gib,
    to_measure,
    wrong_by,
)


def test_steps_that_would_not_fit_are_left_out_with_a_sentence(capsys):
    small = to_measure(every=True, fits=lambda n_bytes: n_bytes < 2**30)
    assert max(row["predicted_reserved_bytes"] for row in small) < 2**30
    said = f"{48 - len(small)} of 48 steps don't fit this GPU: left out.\n"
    assert capsys.readouterr().out == said


def test_peaks_are_shown_in_gib_their_errors_in_order_and_a_row_identifies_its_step():
    row = to_measure(every=False)[0]
    measured = row | {"allocated_bytes": row["predicted_allocated_bytes"] // 2}
    (before, after) = in_gib([row, measured])
    assert before["allocated, measured"] == "–" != after["allocated, measured"]
    assert wrong_by([measured, measured], "allocated") == [1, 1]
    assert wrong_by([measured], "allocated", but=row["model"]) == []
    step = build_of(row).__self__
    assert all(getattr(step, name) == row[name] for name in IDENTIFIES)
