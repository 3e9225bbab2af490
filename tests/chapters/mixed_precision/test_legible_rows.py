"""Rows are written alike, with ≈ where they were measured just now, whatever their origin."""

from course_utils.chapters.mixed_precision import legible
from course_utils.core.evidence import Series

ROW = {
    "recipe": "FP32",
    "tokens_per_s": 12345,
    "peak_bytes": 3 * 2**30,
    "seconds": 0.00125,
    "seconds_n": 9,
}


def test_live_rows_have_units_and_say_that_they_were_measured():
    (row,) = legible([ROW])
    assert row["recipe"] == "FP32" and row["tokens a second"] == "≈ 12,345"
    assert "seconds_n" not in row
    assert row["peak"] == "≈ 3 GiB" and row["a product"] == "≈ 1.25 ms"


def test_recorded_rows_have_the_same_columns_without_the_mark():
    kept = legible(Series.of_rows([ROW], "recorded", "recorded: a GPU"))
    assert kept.provenance == "recorded: a GPU" and list(kept.rows[0]) == list(legible([ROW])[0])
    assert kept.rows[0]["peak"] == "3 GiB" and kept.rows[0]["a product"] == "1.25 ms"


def test_what_is_missing_stays_missing():
    assert legible(None) is None
    assert legible([{"relative_error": None}]) == [{"relative error": None}]
