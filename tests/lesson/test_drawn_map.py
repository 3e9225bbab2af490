"""The map says on which machines the course was recorded."""

from datetime import UTC, datetime

from course_utils import record
from course_utils.lesson import drawn_map
from tests.support.recordings import CHAPTER, GOOD, forge, put


def shown():
    return drawn_map.recorded_on().data


def test_the_map_shows_machines_with_date_torch_and_chapters(keep, fake_machine):
    path = keep("speed", [{"what": "a", "run_seconds": 1.0}])
    keep("rates", GOOD["rates"])
    keep("copies", [])
    forge(path, put("2026-11-21T10:00:00+00:00", "date"))
    fake_machine(gpus=0)
    record("speed", [{"what": "a", "run_seconds": 1.0}])
    _, _, processor, gpu = shown().splitlines()
    today = datetime.now(UTC).date().isoformat()
    assert gpu == f"| H200 | {today} | 2.11.0 | [02]({CHAPTER}.ipynb) (2) |"
    assert processor.startswith("| A processor, 2 cores | ")


def test_the_map_says_how_to_be_the_first_where_nothing_whole_was_recorded(own_data, keep):
    assert "Be the first" in shown() and "make record" in shown()
    keep().write_text("{")
    assert "Be the first" in shown()
