"""The page as a file and in a notebook: whole by itself, text only, stored as a still picture."""

import json
import re

import pytest

from course_utils import traces
from course_utils.traces.json_events import TraceError
from course_utils.traces.page.page import TracePage, trace_page
from course_utils.traces.reading import read_trace
from tests.support.figures import problems
from tests.support.offline_pages import unpacked
from tests.support.traces import launched, note, op, span, write
from tools.bench.trace_growth import training

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>&amp;"
EVENTS = [note("ProfilerStep#3", 0, 40), op("aten::mm", 0, 9), *launched(1, 0, 10, 20)]
MEASURED = re.compile(r"≈\s?[-+]?[\d.,]+(e[-+]?\d+)?\s?[\w%/µμ×]*")  # as tests/sanitise.cfg


def test_a_page_is_one_file_that_asks_for_nothing(tmp_path):
    path = traces.trace_page(write(tmp_path / "a.json", EVENTS)).save(tmp_path / "b" / "a.html")
    text = path.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    for outside in ("http://", "https://", "src=", "href=", "@import", "url(", "fetch("):
        assert outside not in text


def test_words_of_a_file_are_never_html(tmp_path):
    events = [span("cpu_op", EVIL, 0, 5, tid=EVIL), note(EVIL, 0, 9)]
    text = trace_page(write(tmp_path / "<img onerror=alert(1)>.json", events)).html
    assert "<img" not in text and "<script>alert" not in text
    words, _ = unpacked(text)
    assert words["names"][0] == EVIL
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
    for steps in (1, 2000):
        file = write(tmp_path / "mine.json", list(training(steps)))
        bundle, _ = trace_page(file)._repr_mimebundle_()
        texts.append(MEASURED.sub("≈", bundle["text/plain"]))
        assert len(json.dumps({**bundle, "image/png": ""})) < 2000 and "text/html" not in bundle
    assert texts[0] == texts[1]
    assert texts[0].startswith("[widget] mine.json: a trace of ≈ in ≈\n")


@pytest.mark.parametrize("exact", [False, True])
def test_what_a_notebook_keeps_is_as_the_house_wants_a_picture(exact, tmp_path):
    file = write(tmp_path / "mine.json", EVENTS)
    data = trace_page(file, exact=exact).stored()
    cell = {"source": ["trace_page('mine.json')"], "outputs": [{"data": data}]}
    assert problems(cell) == []


def test_of_a_published_trace_it_keeps_every_word(tmp_path):
    file = write(tmp_path / "mine.json", list(training(2000)))
    page, again = (trace_page(file, exact=True) for _ in range(2))
    stored = page.stored()
    assert stored == again.stored()
    assert "Look first at " in stored["text/plain"] and "≈" not in stored["text/plain"]
    assert (
        "kernel: x " in stored["text/plain"] and "message between GPUs: x " in stored["text/plain"]
    )


@pytest.mark.parametrize(
    "events",
    [
        [op("aten::mm", 0, 0)], [op("aten::mm", 5, 1)], launched(1, 30, 10, 5),
        [op("aten::copy_", 0, 9), *launched(1, 2, 5, 9, cat="gpu_memcpy")],
        [op("aten::mm", 0, 10, tid=thread) for thread in range(300)],
        [op(f"$deep$_{place}", place, 1000 - 2 * place) for place in range(300)],
        launched(1, 0, 5, 5, stream="$x^2$\u202e"),
    ],
    ids=[
        "an instant", "one event", "a kernel before its launch", "copies alone", "many threads",
        "deep", "a stream of a strange name",
    ],
)  # fmt: skip
def test_small_and_odd_traces_have_a_page_and_a_picture(events, tmp_path):
    for exact in (False, True):
        assert trace_page(write(tmp_path / "$a$.json", events), exact=exact).stored()["image/png"]


def test_what_is_no_trace_is_one_sentence_with_the_files_name(tmp_path):
    with pytest.raises(TraceError, match=r"^mine.json: it has neither kernels nor operators"):
        trace_page(write(tmp_path / "mine.json", [span("browser", "paint", 0, 5)]))
    with pytest.raises(TraceError, match=r"^given.json can't be read as a trace"):
        (tmp_path / "given.json").write_text("{")
        trace_page(tmp_path / "given.json")
