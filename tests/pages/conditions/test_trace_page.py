"""A trace's page in a real browser: from a file, by pointer, by keyboard alone, in a notebook."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.core import files
from course_utils.traces import intervals
from course_utils.traces.idle import idle_times
from course_utils.traces.page.kinds import BLOCKING, IDLE, KINDS, MESSAGE
from course_utils.traces.page.page import trace_page
from course_utils.traces.trace import Kind
from tests.pages.conditions.lab import HOST, Lab, needs_browser
from tests.support.traces import REAL, call, launched, note, op, read, real, span, write
from tools.bench.trace_growth import measured, training

pytestmark = needs_browser
EVIL = "<script>alert('x')</script><b>evil"
EVENTS = [  # µs: a step in which the GPU waits after an .item(), and for the last launch
    note("ProfilerStep#3", 0, 200), op("aten::linear", 5, 40), op("aten::addmm", 8, 20),
    *launched(1, 10, 20, 30, "void gemm<float>(float*)"), call("cudaStreamSynchronize", 50, 16),
    op("aten::item", 49, 18), op("aten::relu", 105, 20), *launched(2, 110, 115, 40, "relu"),
    *launched(3, 20, 55, 10, "ncclDevKernel_AllReduce", stream=20),
    *launched(4, 170, 175, 5, "last"),
]  # fmt: skip
KEYS = {"zoom in": "w", "zoom out": "s", "left": "a", "right": "d", "all": "r"}


def shown(sheet: Any, trace: Any, folder: Path, name: str = "trace") -> None:
    """Opens the page of a trace and waits until it is drawn."""
    sheet.goto(trace_page(trace, name).save(folder / "page.html").as_uri())
    sheet.wait_for_selector("html[data-ready]", state="attached", timeout=30_000)


def view(sheet: Any) -> tuple[float, float]:
    """Begin and end of what is shown, in ns."""
    return sheet.evaluate("low"), sheet.evaluate("high")


def place(sheet: Any, name: str) -> dict[str, float]:
    """Where the middle of the first event of a name is, on the lanes."""
    box = sheet.evaluate(
        "name => boxOf(found(matching(name)).sort(inTime)[0], $('scroller').scrollTop)", name
    )
    return {"x": (box["x"] + box["end"]) / 2, "y": (box["y"] + box["foot"]) / 2}


def said(sheet: Any) -> dict[str, str]:
    """The title and the facts of what is selected."""
    lines = [line.split(": ", 1) for line in sheet.locator("#facts p").all_inner_texts()]
    return {"title": sheet.locator("#title").inner_text(), **{k: v for k, *v in lines for v in v}}


def photograph(sheet: Any, name: str) -> None:
    (files.ROOT / "build").mkdir(exist_ok=True)
    sheet.screenshot(path=files.ROOT / "build" / f"trace_page_{name}.png")


def test_a_page_opens_without_a_network_and_says_what_the_report_says(sheet, tmp_path):
    asked: list[str] = []
    sheet.on("request", lambda request: asked.append(request.url))
    shown(sheet, read(tmp_path, EVENTS), tmp_path, "mine.json")
    assert {urlparse(address).scheme for address in asked} == {"file"} and len(asked) == 1
    assert sheet.locator("h1").inner_text() == "mine.json"
    assert sheet.locator("#sentence").inner_text() == (
        "14 events, on GPU 0, in 200 µs. 1 step, ProfilerStep#3, of 200 µs to 200 µs on the host. "
        "GPU 0: kernels ran in 85 µs of the 160 µs from the first to the last (53%)."
    )
    assert sheet.locator("#heads > *").all_inner_texts() == [
        "host, thread 1", "GPU 0, launched and waiting: up to 2", "GPU 0, stream 7",
        "GPU 0, stream 20",
    ]  # fmt: skip
    assert "computing" in sheet.locator("#parts").inner_text()
    assert sheet.locator("#look").inner_text().startswith("Look first at ")
    assert sheet.wrong == []


def test_the_pointer_zooms_moves_and_selects(sheet, tmp_path):
    shown(sheet, read(tmp_path, EVENTS), tmp_path)
    lanes, whole = sheet.locator("#lanes"), view(sheet)
    lanes.hover(position={"x": 500, "y": 60})
    sheet.mouse.wheel(0, -300)
    sheet.wait_for_timeout(50)
    near = view(sheet)
    assert near[1] - near[0] < whole[1] - whole[0]
    drag(sheet, lanes, 400, 600)
    nearer = view(sheet)
    share = (nearer[1] - nearer[0]) / (near[1] - near[0])
    assert share == pytest.approx(200 / sheet.evaluate("wide"), rel=0.05)
    sheet.keyboard.down("Shift")
    drag(sheet, lanes, 600, 500)
    sheet.keyboard.up("Shift")
    moved = view(sheet)
    assert moved[0] > nearer[0] and moved[1] - moved[0] == pytest.approx(nearer[1] - nearer[0])
    drag(sheet, sheet.locator("#ruler"), 500, 600, at=10)
    assert view(sheet) == pytest.approx(nearer)
    sheet.get_by_role("button", name="show all").click()
    assert view(sheet) == whole

    lanes.click(position=place(sheet, "gemm"))
    facts = said(sheet)
    assert facts["title"] == "void gemm<float>(float*)"
    assert facts["what"] == "kernel" and facts["took"] == "30 µs" and facts["begins"] == "20 µs"
    assert facts["on"] == "GPU 0, stream 7" and facts["in"] == "ProfilerStep#3"
    assert facts["delay"] == "10 µs from launch to start"
    assert facts["launched by"].startswith("cudaLaunchKernel on host, thread 1")
    assert sheet.evaluate("chosen.flows.map(pair => pair.map(i => words.names[t.name[i]]))") == [
        ["cudaLaunchKernel", "void gemm<float>(float*)"]
    ]
    lanes.click(position=place(sheet, "aten::linear"))
    facts = said(sheet)
    assert facts["launched"].startswith("2, the first: gemm")
    assert facts["all of them took"] == "40 µs"
    lanes.hover(position=place(sheet, "aten::relu"))
    assert sheet.locator("#tip").inner_text() == "aten::relu\n20 µs"
    assert sheet.wrong == []


def colour(sheet: Any, x: float, y: float) -> str:
    """What is drawn at a place of the lanes."""
    read_pixel = "([x, y]) => $('lanes').getContext('2d').getImageData(x, y, 1, 1).data"
    red, green, blue, _ = sheet.evaluate(f"at => Array.from(({read_pixel})(at))", [x, y])
    return f"#{red:02X}{green:02X}{blue:02X}"


def test_bars_and_idle_times_have_the_colours_of_what_they_are(sheet, tmp_path):
    trace = read(tmp_path, EVENTS)
    shown(sheet, trace, tmp_path)
    for name, kind in (
        ("aten::linear", Kind.OPERATOR), ("ProfilerStep#3", Kind.ANNOTATION), ("relu", Kind.KERNEL),
        ("cudaStreamSynchronize", BLOCKING), ("ncclDevKernel_AllReduce", MESSAGE),
    ):  # fmt: skip
        box = sheet.evaluate("name => boxOf(found(matching(name)).at(-1), 0)", f"/^{name}$/")
        assert colour(sheet, box["x"] + 2, box["y"] + 2) in KINDS[kind][1]
        sheet.locator("#text").fill("no such name")
        sheet.wait_for_timeout(50)
        assert colour(sheet, box["x"] + 2, box["y"] + 2) not in KINDS[kind][1]
        sheet.locator("#text").fill("")
        sheet.wait_for_timeout(50)
    middle = sheet.evaluate("X(90e3)")
    for stream in ("GPU 0, stream 7", "GPU 0, stream 20"):
        top = sheet.evaluate("name => blocks.find(one => one.name === name).y", stream)
        assert colour(sheet, middle, top + 2) == IDLE["synchronising"]
    sheet.locator("#lanes").click(position={"x": middle, "y": top + 8})
    assert said(sheet)["title"] == "GPU 0: idle after a synchronising call"


def drag(sheet: Any, where: Any, start: int, end: int, at: int = 60) -> None:
    box = where.bounding_box()
    sheet.mouse.move(box["x"] + start, box["y"] + at)
    sheet.mouse.down()
    sheet.mouse.move(box["x"] + end, box["y"] + at, steps=3)
    sheet.mouse.up()
    sheet.wait_for_timeout(50)


def test_the_keyboard_alone_does_all(sheet, tmp_path):
    shown(sheet, read(tmp_path, EVENTS), tmp_path)
    whole = view(sheet)
    for key, smaller in (("w", True), ("s", False)):
        before = view(sheet)
        sheet.keyboard.press(key)
        after = view(sheet)
        assert (after[1] - after[0] < before[1] - before[0]) is smaller
    sheet.keyboard.press("w")
    for key, right in (("d", True), ("a", False), ("ArrowRight", True), ("ArrowLeft", False)):
        before = view(sheet)
        sheet.keyboard.press(key)
        assert (view(sheet)[0] > before[0]) is right
    sheet.keyboard.press("r")
    assert view(sheet) == whole

    sheet.keyboard.press("/")
    sheet.keyboard.type("relu")
    assert sheet.locator("#result").inner_text() == "2 found, 60 µs in all"
    sheet.keyboard.press("Enter")
    assert said(sheet)["title"] == "aten::relu"
    assert sheet.locator("#result").inner_text() == "1 of 2 found, 60 µs in all"
    sheet.keyboard.press("Tab")
    sheet.keyboard.press("n")
    assert said(sheet)["title"] == "relu"
    sheet.keyboard.press("N")
    assert said(sheet)["title"] == "aten::relu"
    sheet.keyboard.press("g")
    assert said(sheet)["title"] == "relu"
    sheet.keyboard.press("g")
    assert said(sheet)["title"] == "cudaLaunchKernel"
    sheet.keyboard.press("ArrowUp")
    assert said(sheet)["title"] == "aten::relu"
    sheet.keyboard.press("ArrowLeft")
    assert said(sheet)["title"] == "aten::item"
    for _ in range(2):
        sheet.keyboard.press("ArrowLeft")
        assert said(sheet)["title"] == "aten::linear"
    sheet.keyboard.press("ArrowRight")
    sheet.keyboard.press("f")
    low, high = view(sheet)
    assert low < 49_000 < 67_000 < high < low + 40_000
    sheet.keyboard.press("m")
    assert said(sheet)["title"] == "Measured: 18 µs, from 49 µs to 67 µs"
    sheet.keyboard.press("Escape")
    assert sheet.evaluate("[chosen, marked, hits]") == [None, None, None]
    assert sheet.locator("#text").input_value() == ""
    assert sheet.wrong == []


def test_whatever_has_the_focus_shows_it_and_tab_reaches_all(sheet, tmp_path):
    shown(sheet, read(tmp_path, EVENTS), tmp_path)
    reached = set()
    for _ in range(40):
        sheet.keyboard.press("Tab")
        reached.add(sheet.evaluate("document.activeElement.id || document.activeElement.innerText"))
        outline = sheet.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or sheet.evaluate("document.activeElement === document.body")
    assert {
        "text",
        "next",
        "zoom-in",
        "lanes",
        "host, thread 1",
        "ProfilerStep#3\n200 µs",
    } <= reached
    sheet.locator("#lanes").focus()
    sheet.keyboard.press("Enter")
    assert sheet.evaluate("chosen.event") >= 0
    sheet.locator("#heads button").first.focus()
    before = sheet.evaluate("blocks[0].height")
    sheet.keyboard.press("Enter")
    assert sheet.evaluate("blocks[0].height") < before
    assert sheet.locator("#heads button").first.get_attribute("aria-expanded") == "false"
    assert sheet.wrong == []


def test_a_cause_on_the_right_leads_to_the_longest_idle_time_that_it_had(sheet, tmp_path):
    shown(sheet, read(tmp_path, EVENTS), tmp_path)
    sheet.get_by_role("button", name="idle after a synchronising call").click()
    facts = said(sheet)
    assert facts["title"] == "GPU 0: idle after a synchronising call"
    assert facts["took"] == "50 µs"
    assert facts["the call that waited"].startswith("cudaStreamSynchronize on host, thread 1")
    assert facts["ended by"].startswith("relu")
    assert facts["that launch ended"] == "47 µs after the GPU had nothing to do"
    assert facts["its calls to the GPU"] == "cudaLaunchKernel 2 µs; cudaStreamSynchronize 1 µs"
    assert "aten::relu 10 µs; aten::item 2 µs; no operator 38 µs" in facts["meanwhile that thread"]
    low, high = view(sheet)
    assert low < 65_000 < 115_000 < high < 200_000
    photograph(sheet, "idle")
    sheet.get_by_role("button", name="idle, launched too late").click()
    facts = said(sheet)
    assert facts["took"] == "20 µs" and facts["ended by"].startswith("last")
    assert sheet.wrong == []


def test_without_a_gpu_the_longest_time_without_an_operator_is_found(sheet, tmp_path):
    shown(
        sheet, read(tmp_path, [op("first", 0, 10), op("inner", 2, 8), op("then", 70, 5)]), tmp_path
    )
    assert sheet.locator("#where-title").inner_text() == "Where the host's time went"
    assert sheet.locator("#legend").inner_text().strip() == "operator"
    sheet.get_by_role("button", name="neither: Python, or not traced").click()
    facts = said(sheet)
    assert facts["title"] == "The host ran no operator: Python, or what wasn't traced"
    assert facts["took"] == "60 µs" and facts["begins"] == "10 µs"
    assert facts["after"].split()[0] in ("first", "inner") and facts["before"].startswith("then")
    assert sheet.wrong == []


def test_the_bench_has_a_row_for_a_trace(browser, tmp_path):
    file = write(tmp_path / "mine.json", EVENTS)
    row = measured(file, browser)
    assert row.strip().startswith("14 events: read 0.") and " ms, of a tenth " in row


def test_what_is_searched_for_is_counted_and_no_expression_is_no_error(sheet, tmp_path):
    shown(sheet, read(tmp_path, EVENTS), tmp_path)
    for text, many in (
        ("cuda", "5 found, 24 µs in all"), ("PROFILERstep", "1 found, 200 µs in all"),
        ("/^aten::(linear|item)$/", "2 found, 58 µs in all"), ("/CUDA/i", "5 found, 24 µs in all"),
        ("void gemm<float>(", "1 found, 30 µs in all"), ("nothing", "0 found"),
        ("/(/", "that is no expression"), ("", ""),
    ):  # fmt: skip
        sheet.locator("#text").fill(text)
        assert sheet.locator("#result").inner_text() == many
        sheet.keyboard.press("Enter")
    sheet.locator("#tops button").first.click()
    assert sheet.locator("#text").input_value() == "relu"
    assert sheet.wrong == []


def test_of_a_measured_time_the_page_says_what_the_library_does(sheet, tmp_path):
    trace = read(tmp_path, list(training(3000)))
    shown(sheet, trace, tmp_path)
    for low, high in ((0.0, trace.end.max()), (1.2345e-3, 7e-3), (2e-3, 2.001e-3)):
        sheet.evaluate("([low, high]) => mark(low, high)", [low * 1e9, high * 1e9])
        facts = said(sheet)
        gpu = intervals.within(trace.moments(trace.on(0, Kind.KERNEL)), low, high)
        stream = trace.moments(trace.named(re.compile("nccl")))
        for name, moments in (("GPU 0, any stream", gpu), ("GPU 0, stream 20", stream)):
            took = intervals.length(intervals.within(moments, low, high))
            assert facts[name] == sheet.evaluate(
                "([ns, share]) => `${timeText(ns)} busy, ${shareText(share)}`",
                [took * 1e9, took / (high - low)],
            )
    drag_marks(sheet)
    assert sheet.wrong == []


def drag_marks(sheet: Any) -> None:
    """Ctrl and drag marks what lies between, and leaves what is shown."""
    before = view(sheet)
    sheet.keyboard.down("Control")
    drag(sheet, sheet.locator("#lanes"), 300, 500)
    sheet.keyboard.up("Control")
    assert view(sheet) == before
    low, high = sheet.evaluate("marked.map(X)")
    assert (low, high) == pytest.approx((300, 500), abs=2)


def test_idle_times_and_what_waits_are_told_as_the_library_knows_them(sheet, tmp_path):
    trace = read(tmp_path, list(training(3000)))
    shown(sheet, trace, tmp_path)
    idle = idle_times(trace, 0, trace.window(0))
    gaps = np.array(sheet.evaluate("Array.from(t.devices[0].gaps.end)"))
    assert gaps / 1e9 == pytest.approx(idle.spans[:, 1])
    longest = int(np.argmax(idle.seconds))
    sheet.evaluate("place => chooseGap(t.devices[0], place)", longest)
    assert said(sheet)["took"] == sheet.evaluate("timeText", idle.seconds[longest] * 1e9)


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
