"""Visits of chapters: one that doesn't fit isn't begun, one that runs over leaves whole files."""

import json
import time

import nbformat

from course_utils.cli import notebooks, recording_visits
from tests.support.visits import visit


def test_a_chapter_that_does_not_fit_is_not_begun_and_a_later_one_that_fits_is(
    monkeypatch, tmp_path, capsys
):
    begun = []
    monkeypatch.setattr(notebooks, "record", lambda path, *_: begun.append(path.stem[:2]) or [])
    monkeypatch.setattr(recording_visits, "_now", lambda visit, to: visit)
    failed = recording_visits.make([visit("09", 3, 300), visit("02", 2, 10)], tmp_path, minutes=2)
    assert begun == ["02"] and not failed
    said = capsys.readouterr().out
    assert "09_memory_snapshots isn't begun: it takes ≈ 310 s, 110 are left" in said
    assert "Left: 09_memory_snapshots: x" in said and "The same command goes on with that." in said


def test_a_chapter_that_runs_over_is_stopped_and_what_it_measured_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "executed")
    cells = [
        "from course_utils import start, record; start('02_async_execution')",
        "record('logging', {'a step': 2.0})",
        "import time; time.sleep(60)",
    ]
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in cells])
    path = tmp_path / "02_async_execution.ipynb"
    nbformat.write(page, path)
    start = time.time()
    failed = notebooks.record(path, tmp_path / "recorded", deadline=start + 12)
    assert failed == [notebooks.TIME_IS_UP]
    assert time.time() - start < 40
    (kept,) = (tmp_path / "recorded").glob("*/02_async_execution/*.json")
    assert json.loads(kept.read_text())["rows"] == [{"step": "a step", "each_over_late": 2.0}]
    assert [p.name for p in kept.parent.iterdir()] == ["logging.json"], "nothing half-written"
