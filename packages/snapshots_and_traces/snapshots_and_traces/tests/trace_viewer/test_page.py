"""The page as a file and in a notebook: whole by itself, text only, stored as a still picture."""

import pytest

from snapshots_and_traces.tests.support.offline_pages import unpacked
from snapshots_and_traces.tests.support.traces import ODD, launched, note, op, span, write
from snapshots_and_traces.trace_viewer.page import TracePage, trace_page
from snapshots_and_traces.traces.reading import read_trace

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>&amp;"
EVENTS = [note("ProfilerStep#3", 0, 40), op("aten::mm", 0, 9), *launched(1, 0, 10, 20)]


def test_a_page_is_one_file_that_asks_for_nothing_and_words_of_a_trace_are_never_html(tmp_path):
    events = [span("cpu_op", EVIL, 0, 5, tid=EVIL), note(EVIL, 0, 9)]
    page = trace_page(write(tmp_path / "<img onerror=alert(1)>.json", events))
    text = page.save(tmp_path / "b" / "a.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    for outside in ("http://", "https://", "src=", "href=", "@import", "url(", "fetch("):
        assert outside not in text
    assert "<img" not in text and "<script>alert" not in text
    assert unpacked(text)[0]["names"][0] == EVIL
    for script in TracePage.scripts:
        assert "innerHTML" not in (TracePage.folder / script).read_text()


def test_a_path_and_a_trace_give_the_same_page(tmp_path):
    path = write(tmp_path / "mine.json", EVENTS)
    pages = [trace_page(one) for one in (path, str(path), read_trace(path))]
    assert len({page.data for page in pages}) == 1
    assert [page.name for page in pages] == ["mine.json", "mine.json", "trace"]
    assert repr(pages[0]).startswith("[trace] mine.json: 4 events, on GPU 0, in 40 µs. 1 step")
    assert "\n" not in repr(pages[0])


@pytest.mark.parametrize("events", ODD.values(), ids=ODD)
def test_small_and_odd_traces_have_a_page(events, tmp_path):
    page = trace_page(write(tmp_path / "$a$.json", events))
    assert page.html and page.stored() == {"text/plain": repr(page)}
