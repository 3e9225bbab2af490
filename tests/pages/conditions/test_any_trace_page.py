"""Any trace's page in a real browser: odd ones, long ones, real ones, one in a notebook."""

import json
from urllib.parse import urlparse

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.traces.page.page import trace_page
from tests.pages.conditions.lab import HOST, Lab, needs_browser
from tests.support.trace_pages import EVENTS, photograph, said, shown, view
from tests.support.traces import REAL, launched, note, op, read, real, span, write
from tools.bench.trace_growth import measured, training

pytestmark = needs_browser
EVIL = "<script>alert('x')</script><b>evil"


@pytest.mark.parametrize(
    "events",
    [
        [op("aten::mm", 0, 10)],
        [op("aten::mm", 7, 0)],
        launched(1, 30, 10, 5),
        [span("kernel", "alone", 0, 5, 7, 0, device=0)],
        [op("aten::copy_", 0, 9), *launched(1, 2, 5, 9, cat="gpu_memcpy")],
        [op(EVIL, 0, 5), note(EVIL, 0, 9), *launched(1, 0, 5, 5, EVIL)],
        [*launched(1, 0, 5, 5), *launched(2, 6, 9, 5, device=1)],
        [op("first", 0, 10), op("last", 3e16, 1e12)],
        [op("deep", place, 1000 - 2 * place) for place in range(300)],
        [op("aten::mm", 0, 10, tid=thread) for thread in range(300)],
    ],
    ids=[
        "one event", "an instant", "a kernel before its launch", "no launch",
        "copies alone", "hostile names",
        "two GPUs", "a thousand years", "deep", "many threads",
    ],
)  # fmt: skip
def test_odd_traces_are_shown_and_every_event_tells_of_itself(events, sheet, tmp_path):
    trace = read(tmp_path, events)
    shown(sheet, trace, tmp_path, EVIL)
    for i in range(min(len(trace.start), 5)):
        sheet.evaluate("i => choose(i)", i)
        assert sheet.locator("#title").inner_text() in trace.names
    for key in "wsadfmgntr":
        sheet.keyboard.press(key)
    for button in sheet.locator("#parts button").all():
        button.click()
    sheet.wait_for_timeout(50)
    assert sheet.evaluate("document.documentElement.scrollWidth") <= 1366
    assert sheet.locator("b", has_text="evil").count() == 0 and sheet.wrong == []


def test_a_kernel_that_begins_before_its_launch_says_that_clocks_differ(sheet, tmp_path):
    shown(sheet, read(tmp_path, launched(1, 30, 10, 5)), tmp_path)
    sheet.evaluate("choose(found(matching('gemm'))[0])")
    assert said(sheet)["delay"] == "it begins 20 µs before its launch: the clocks differ by that"


def test_times_that_are_too_long_for_nanoseconds_are_told_as_they_are(sheet, tmp_path):
    shown(sheet, read(tmp_path, [op("first", 0, 10), op("last", 3e16, 1e12)]), tmp_path)
    sheet.evaluate("choose(found(matching('last'))[0])")
    facts = said(sheet)
    assert facts["took"] == "1,000,000 s" and facts["begins"] == "30,000,000,000,000 ms"
    sheet.keyboard.press("f")
    low, high = view(sheet)
    assert 2.999e19 < low < 3e19 < high < 3.01e19


def test_a_hundred_thousand_events_open_and_move(sheet, tmp_path):
    """Loose bounds, for a busy machine; `tools.bench.trace_growth` measures."""
    file = tmp_path / "long.json"
    file.write_text(json.dumps({"traceEvents": list(training(100_000))}))
    page = trace_page(file).save(tmp_path / "page.html")
    begun = sheet.evaluate("performance.timeOrigin + performance.now()")
    sheet.goto(page.as_uri())
    sheet.wait_for_selector("html[data-ready]", state="attached", timeout=30_000)
    assert sheet.evaluate("performance.timeOrigin + performance.now()") - begun < 6000
    assert sheet.evaluate("t.name.length") >= 100_000
    frames = sheet.evaluate("""() => [0, 1, 2].map(turn => {
        const begun = performance.now()
        zoomTo(turn * 1e5, t.length - turn * 1e5)
        draw()
        return performance.now() - begun
    })""")
    assert min(frames) < 500 and sheet.wrong == []
    lanes = """name => {
        const { y, height } = blocks.find(block => block.name === name).rows[0], seen = new Set()
        const line = $("lanes").getContext("2d").getImageData(LEFT, y + height / 2, wide, 1).data
        for (let x = 0; x < wide; x++) if (line[4 * x + 2] < 200) seen.add(x)
        return seen.size / wide
    }"""
    sheet.evaluate("zoomTo(0, t.length); draw()")
    assert sheet.evaluate(lanes, "GPU 0, stream 7") > 0.9, "events below a pixel are drawn too"


@pytest.mark.parametrize("file", sorted(REAL.glob("*.gz")) or [None], ids=lambda f: f and f.name)
def test_a_real_gpus_trace_fits_a_laptop(file, sheet, tmp_path):
    if file is None:
        real("none")
    shown(sheet, file, tmp_path)
    assert sheet.evaluate("document.documentElement.scrollWidth") <= 1366
    assert sheet.evaluate("document.documentElement.scrollHeight") <= 768
    photograph(sheet, file.name.partition("-")[0])
    for button in sheet.locator("#parts button").all():
        button.click()
        assert sheet.evaluate("chosen.span.every(Number.isFinite)")
    assert sheet.wrong == []


def test_one_line_in_a_notebook_shows_the_page_and_stores_a_picture(lab: Lab):
    write(lab.folder / "mine.json", EVENTS)
    code = "from course_utils import traces\ntraces.trace_page('mine.json')"
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = new_notebook(cells=[new_code_cell(code, id="page")], metadata=metadata)
    nbformat.write(notebook, lab.folder / "page.ipynb")
    lab.open("page.ipynb")
    lab.run_all()
    frame = lab.show("page").frame_locator("iframe")
    frame.get_by_text("GPU 0: kernels ran in 85 µs").first.wait_for(timeout=20_000)
    stored = lab.outputs("page")
    assert "[widget] mine.json: a trace of ≈ 14 events in ≈ 200 µs" in stored
    assert "image/png" in stored and len(stored) < 60_000
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}


def test_the_bench_has_a_row_for_a_trace(browser, tmp_path):
    file = write(tmp_path / "mine.json", EVENTS)
    row = measured(file, browser)
    assert row.strip().startswith("14 events: read 0.") and " ms, of a tenth " in row
