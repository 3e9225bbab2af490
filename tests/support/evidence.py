"""A recorded and a published series, as figures and tables are given them."""

from course_utils.core.evidence import Series

RECORDED = Series.of_rows(
    [{"what": "run", "seconds": 2.0, "n": 1}, {"what": "copy", "seconds": 3.0, "n": 2}],
    "recorded",
    "recorded: H200, torch 2.11.0, 2026-11-20",
)


PUBLISHED = Series.of_rows([{"what": "run", "seconds": 5.0}], "published", "published: a paper")
