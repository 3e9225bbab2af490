"""The report of `make test`: claims, exercises and evidence by chapter, from what a run left."""

from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import quoteattr

from tools import report

FORMATS = "06_floating_point_formats"


def junit(path, *cases):
    """A JUnit file of (group, name, seconds, problem)."""
    lines = []
    for group, name, seconds, problem in cases:
        inside = f"<failure>{problem}</failure>" if problem else ""
        head = f"classname={quoteattr(group)} name={quoteattr(name)} time='{seconds}'"
        lines.append(f"<testcase {head}>{inside}</testcase>")
    path.write_text(f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>")
    return list(report.read_junit(path))


def noted(kind, **what):
    return {"kind": kind, "chapter": FORMATS, **what}


def test_the_report_counts_a_claim_once_at_its_worst(tmp_path):
    cases = junit(tmp_path / "a.xml", (f"notebooks.{FORMATS}.ipynb", "Cell 0", 41, ""))
    journal = [
        *(noted("claim", id="a", claim="A.", needs=None, outcome="held") for _ in range(2)),
        noted("claim", id="b", claim="B.", needs=None, outcome="held"),
        noted("claim", id="b", claim="B, in other words.", needs=None, outcome="failed"),
        noted("claim", id="c", claim="C.", needs=None, outcome="not decided"),
        noted("claim", id="d", claim="D.", needs="gpu", outcome="not tested here"),
        noted("published", name="x", source="someone"),
    ]
    (chapter,) = report.by_chapter(cases, journal).values()
    assert (chapter.claims_held, chapter.claims_failed, chapter.claims_not_decided) == (
        1, {"b": "B, in other words."}, {"c": "C."},
    )  # fmt: skip
    assert chapter.claims_not_tested_here == {"d": "gpu"} and chapter.published == ["x"]
    assert chapter.seconds == 41 and chapter.over_budget
    text = report.as_text({FORMATS: chapter}, cases)
    assert f"✗ {FORMATS}, claim b: B, in other words." in text
    assert "1/3" in text and "1 (gpu)" in text and f"{FORMATS} takes 41 s, over its 30 s" in text


def test_the_report_shows_the_age_of_evidence_and_an_exercise_whose_check_failed(tmp_path):
    answers = "tests.pages.test_answers"
    cases = junit(
        tmp_path / "a.xml",
        (f"notebooks.{FORMATS}.ipynb", "Cell 0", 5, ""),
        (answers, "test_the_solution_passes_again_and_again[formats.stochastic]", 1, ""),
        (answers, "test_the_solution_passes_again_and_again[formats.to_fp8]", 1, ""),
        (answers, "test_a_wrong_answer_is_rejected_every_time[formats.to_fp8-x]", 1, "passed"),
    )
    then = (datetime.now(UTC) - timedelta(days=12, hours=1)).isoformat()
    journal = [noted("recorded", name="matmul", machine="H200", date=then)]
    chapters = report.by_chapter(cases, journal)
    chapter = chapters[FORMATS]
    assert chapter.exercises_verified == ["formats.stochastic"]
    assert chapter.exercises_not_verified == ["formats.to_fp8"]
    assert chapter.recordings == [{"experiment": "matmul", "machine": "H200", "days_old": 12}]
    assert "1 recorded (H200, up to 12 days old)" in report.as_text(chapters, cases)
    assert report.as_json(chapters, cases)["passed"] is False


def test_the_report_counts_claims_by_mark_and_lists_those_that_could_be_tighter(tmp_path):
    cases = junit(tmp_path / "a.xml", (f"notebooks.{FORMATS}.ipynb", "Cell 0", 5, ""))
    held = {"needs": None, "outcome": "held"}
    journal = [
        noted("claim", id="a", claim="A.", mark="✓", margin=4.1234, **held),
        noted("claim", id="b", claim="B.", mark="✓", margin=1.9, **held),
        noted("claim", id="c", claim="C.", mark="∴", margin=None, **held),
        noted("claim", id="d", claim="D.", mark="∴", margin=30.0, **held),
    ]
    (chapter,) = report.by_chapter(cases, journal).values()
    assert (chapter.claims_held, chapter.claims_following) == (2, 2)
    assert chapter.claims_loose == {"a": 4.12, "d": 30}
    assert f"– {FORMATS}, margins over 2: d 30, a 4.12" in report.as_text({FORMATS: chapter}, cases)
