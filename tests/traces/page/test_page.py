"""The page as a file and in a notebook: whole by itself, text only, stored as a still picture."""

import json
import re

import pytest

from course_utils import traces
from course_utils.traces.page.page import TracePage, trace_page
from course_utils.traces.reading import read_trace
from tests.support.figures import problems
from tests.support.offline_pages import unpacked
from tests.support.traces import launched, note, op, span, training, write

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>&amp;"
EVENTS = [note("ProfilerStep#3", 0, 40), op("aten::mm", 0, 9), *launched(1, 0, 10, 20)]
MEASURED = re.compile(r"≈\s?[-+]?[\d.,]+(e[-+]?\d+)?\s?[\w%/µμ×]*")  # as tests/sanitise.cfg


def test_a_page_is_one_file_that_asks_for_nothing_and_words_of_a_trace_are_never_html(tmp_path):
    events = [span("cpu_op", EVIL, 0, 5, tid=EVIL), note(EVIL, 0, 9)]
    page = traces.trace_page(write(tmp_path / "<img onerror=alert(1)>.json", events))
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


def test_of_a_trace_made_here_a_notebook_keeps_nothing_that_the_next_run_changes(tmp_path):
    texts = []
    for steps in (1, 3):
        bundle, _ = trace_page(write(tmp_path / "mine.json", training(steps)))._repr_mimebundle_()
        texts.append(MEASURED.sub("≈", bundle["text/plain"]))
        assert len(json.dumps({**bundle, "image/png": ""})) < 2000 and "text/html" not in bundle
    assert texts[0] == texts[1]
    assert texts[0].startswith("[widget] mine.json: a trace of ≈ in ≈\n")


def test_of_a_published_trace_it_keeps_every_word_in_a_picture_as_the_house_wants_it(tmp_path):
    stored = trace_page(write(tmp_path / "mine.json", training(2)), exact=True).stored()
    text = stored["text/plain"]
    assert "Look first at " in text and "≈" not in text
    assert "kernel: 131 boxes\n" in text and "message between GPUs: 4 boxes" in text
    cell = {"source": ["trace_page('mine.json')"], "outputs": [{"data": stored}]}
    assert problems(cell) == []


@pytest.mark.parametrize(
    "events",
    [
        [op("aten::mm", 0, 0)],
        launched(1, 30, 10, 5),
        [op("aten::copy_", 0, 9), *launched(1, 2, 5, 9, stream="$x^2$\u202e", cat="gpu_memcpy")],
        [op(f"$deep$_{place}", place, 200 - 2 * place, place % 40) for place in range(60)],
    ],
    ids=["an instant", "a kernel before its launch", "copies alone", "many threads"],
)
def test_small_and_odd_traces_have_a_page_and_a_picture(events, tmp_path):
    file = write(tmp_path / "$a$.json", events)
    for exact in (False, True):
        assert trace_page(file, exact=exact).stored()["image/png"]
