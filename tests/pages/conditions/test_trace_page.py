"""A trace's page in a real browser: what it says, by pointer and by keyboard; odd and real ones."""

import re
from urllib.parse import urlparse

import numpy as np
import pytest

from snapshots_and_traces.tests.support.trace_pages import (
    EVENTS,
    drag,
    painted,
    place,
    said,
    trace_shown,
    view,
    write_notebook,
)
from snapshots_and_traces.tests.support.traces import (
    REAL,
    launched,
    note,
    op,
    read,
    real,
    training,
    write,
)
from snapshots_and_traces.traces import intervals
from snapshots_and_traces.traces.critical_path import CATEGORIES, critical_path
from snapshots_and_traces.traces.idle import idle_times
from snapshots_and_traces.traces.report import overview
from snapshots_and_traces.traces.trace import Kind
from tests.pages.conditions.lab import HOST, Lab, needs_browser

pytestmark = [
    needs_browser,
    pytest.mark.thorough("course_utils/traces", "packages/snapshots_and_traces"),
]
EVIL = "<script>alert('x')</script><b>evil"


def test_a_page_opens_without_a_network_and_answers_the_pointer(sheet, tmp_path):
    asked: list[str] = []
    sheet.on("request", lambda request: asked.append(request.url))
    trace_shown(sheet, read(tmp_path, EVENTS), tmp_path, "mine.json")
    assert {urlparse(address).scheme for address in asked} == {"file"} and len(asked) == 1
    assert sheet.locator("h1").inner_text() == "mine.json"
    assert sheet.locator("#sentence").inner_text() == (
        "14 events, on GPU 0, in 200 µs. 1 step, ProfilerStep#3, of 200 µs on the host. "
        "GPU 0: kernels ran in 85 µs of the 200 µs of the steps (43%)."
    )
    assert sheet.locator("#heads > *").all_inner_texts() == [
        "host, thread 1", "GPU 0, launched and waiting: up to 2", "GPU 0, stream 7",
        "GPU 0, stream 20",
    ]  # fmt: skip
    assert "computing" in sheet.locator("#parts").inner_text()
    assert sheet.locator("#look").inner_text().startswith("Look first at ")

    lanes, whole = sheet.locator("#lanes"), view(sheet)
    lanes.hover(position={"x": 500, "y": 60})
    sheet.mouse.wheel(0, -300)
    sheet.wait_for_function("([from, to]) => high - low < to - from", arg=whole)
    near = view(sheet)
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
    sheet.keyboard.down("Control")
    drag(sheet, lanes, 300, 500)
    sheet.keyboard.up("Control")
    assert view(sheet) == whole
    assert sheet.evaluate("marked.map(X)") == pytest.approx((300, 500), abs=2)

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


def test_a_cause_on_the_right_leads_to_the_longest_idle_time_that_it_had(sheet, tmp_path):
    trace_shown(sheet, read(tmp_path, EVENTS), tmp_path)
    sheet.get_by_role("button", name="idle after a synchronising call").click()
    facts = said(sheet)
    assert facts["title"] == "GPU 0: idle after a synchronising call"
    assert facts["took"] == "50 µs"
    assert facts["of which"] == (
        "36 µs idle after a synchronising call; 14 µs idle, launched too late"
    ), "1 µs in the call, and the 35 that it waited"
    assert facts["the call that waited"].startswith("cudaStreamSynchronize on host, thread 1")
    assert facts["ended by"].startswith("relu")
    assert facts["that launch ended"] == "47 µs after the GPU had nothing to do"
    assert facts["its calls to the GPU"] == "cudaLaunchKernel 2 µs; cudaStreamSynchronize 1 µs"
    assert "aten::relu 10 µs; aten::item 2 µs; no operator 38 µs" in facts["meanwhile that thread"]
    low, high = view(sheet)
    assert low < 65_000 < 115_000 < high < 200_000
    assert sheet.wrong == []


def test_a_kernel_on_the_right_leads_to_its_longest_run(sheet, tmp_path):
    trace_shown(sheet, read(tmp_path, EVENTS), tmp_path)
    for button in sheet.locator("#tops button").all():
        button.click()
        assert said(sheet)["title"] == sheet.locator("#text").input_value()
        assert re.match(r"\d of \d found", sheet.locator("#result").inner_text())
    assert sheet.wrong == []


def test_the_keyboard_alone_does_all_and_a_search_counts(sheet, tmp_path):
    trace_shown(sheet, read(tmp_path, EVENTS), tmp_path)
    whole = view(sheet)
    for key, smaller in (("w", True), ("s", False), ("w", True)):
        before = view(sheet)
        sheet.keyboard.press(key)
        after = view(sheet)
        assert (after[1] - after[0] < before[1] - before[0]) is smaller
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
    for key, title in (
        ("n", "relu"), ("N", "aten::relu"), ("g", "relu"), ("g", "cudaLaunchKernel"),
        ("ArrowUp", "aten::relu"), ("ArrowLeft", "aten::item"), ("ArrowLeft", "aten::linear"),
        ("ArrowRight", "aten::item"),
    ):  # fmt: skip
        sheet.keyboard.press(key)
        assert said(sheet)["title"] == title
    sheet.keyboard.press("f")
    low, high = view(sheet)
    assert low < 29_000 < 67_000 < high < low + 80_000
    sheet.keyboard.press("m")
    assert said(sheet)["title"] == "Measured: 38 µs, from 29 µs to 67 µs"
    sheet.keyboard.press("Escape")
    assert sheet.evaluate("[chosen, marked, hits]") == [None, None, None]
    assert sheet.locator("#text").input_value() == ""

    for text, many in (
        ("PROFILERstep", "1 found, 200 µs in all"), ("/(/", "that is no expression"), ("", ""),
        ("/^aten::(linear|item)$/", "2 found, 58 µs in all"),
    ):  # fmt: skip
        sheet.locator("#text").fill(text)
        assert sheet.locator("#result").inner_text() == many
        sheet.keyboard.press("Enter")

    reached = set()
    for _ in range(40):
        sheet.keyboard.press("Tab")
        reached.add(sheet.evaluate("document.activeElement.id || document.activeElement.innerText"))
        outline = sheet.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or sheet.evaluate("document.activeElement === document.body")
    everything = {"text", "next", "zoom in", "lanes", "host, thread 1", "ProfilerStep#3\n200 µs"}
    assert everything <= reached
    sheet.locator("#heads button").first.focus()
    before = sheet.evaluate("blocks[0].height")
    sheet.keyboard.press("Enter")
    assert sheet.evaluate("blocks[0].height") < before
    assert sheet.locator("#heads button").first.get_attribute("aria-expanded") == "false"
    assert sheet.wrong == []


def test_of_a_measured_time_and_of_idle_times_the_page_says_what_the_library_does(sheet, tmp_path):
    trace = read(tmp_path, training(20))
    trace_shown(sheet, trace, tmp_path)
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
    idle = idle_times(trace, 0, trace.window(0))
    gaps = np.array(sheet.evaluate("Array.from(t.devices[0].gaps.end)"))
    assert gaps / 1e9 == pytest.approx(idle.spans[:, 1])
    longest = int(np.argmax(idle.seconds))
    sheet.evaluate("place => chooseGap(t.devices[0], place)", longest)
    assert said(sheet)["took"] == sheet.evaluate("timeText", idle.seconds[longest] * 1e9)
    assert sheet.wrong == []


def test_the_critical_path_is_drawn_and_its_parts_are_the_librarys(sheet, tmp_path):
    trace = read(tmp_path, training(5))
    trace_shown(sheet, trace, tmp_path)
    before, time = sheet.locator("#parts").inner_text(), sheet.locator("#where-title").inner_text()
    seconds = critical_path(trace, 0, overview(trace, 0).window).seconds()
    button = sheet.get_by_role("button", name="critical path")
    assert button.get_attribute("aria-pressed") == "false"
    sheet.keyboard.press("p")
    painted(sheet)
    assert button.get_attribute("aria-pressed") == "true"
    assert sheet.locator("#where-title").inner_text() == "Critical path of GPU 0"
    assert sheet.locator("#look").inner_text().startswith("What each moment of ")
    parts = sheet.evaluate("device.path.parts.map(([what, , took]) => [what, took / 1e9])")
    assert dict(parts) == pytest.approx({CATEGORIES[k]: v for k, v in seconds.items() if v > 1e-9})
    spans = "p => [...p.start].every((at, i) => !i || at === p.end[i - 1])"
    assert sheet.evaluate(f"({spans})(device.path)"), "from one lane to the next without a gap"
    red = """() => {
        const { width, height } = $("lanes"), pen = $("lanes").getContext("2d")
        const all = pen.getImageData(0, 0, width, height).data
        let many = 0
        for (let i = 0; i < all.length; i += 4) many += all[i] === 192 && !all[i + 1] && !all[i + 2]
        return many / wide
    }"""
    assert sheet.evaluate(red) > 1, "a red line from edge to edge"
    for entry in sheet.locator("#parts button").all():
        entry.click()
        assert sheet.evaluate("high > low && low >= page.begin")
        assert said(sheet)["of its kind"].startswith("the longest")
    sheet.keyboard.press("p")
    assert (sheet.locator("#parts").inner_text(), sheet.locator("#where-title").inner_text()) == (
        before, time
    )  # fmt: skip
    assert sheet.wrong == []


LATE = [op("first", 5, 10), op("last", 9e10 + 5, 1e10)]
ODD = {  # events; a name in them, and what the page says of it
    "a kernel before its launch": (
        launched(1, 30, 10, 5), "gemm",
        {"delay": "it begins 20 µs before its launch: the clocks differ by that"},
    ),
    "more than a day": (LATE, "last", {"took": "10,000 s", "begins": "90,000,000 ms"}),
    "no GPU": ([op("first", 0, 10), op("then", 70, 5)], "then", {"took": "5 µs"}),
    "an instant": ([op("aten::mm", 7, 0)], "aten::mm", {"took": "0 ns"}),
    "copies alone": (
        [op("aten::copy_", 0, 9), *launched(1, 2, 5, 9, cat="gpu_memcpy")], "gemm", {},
    ),
    "hostile names": ([op(EVIL, 0, 5), note(EVIL, 0, 9), *launched(1, 0, 5, 5, EVIL)], EVIL, {}),
    "two GPUs": ([*launched(1, 0, 5, 5), *launched(2, 6, 9, 5, device=1)], "gemm", {}),
    "deep": ([op("deep", place, 1000 - 2 * place) for place in range(300)], "deep", {}),
    "many threads": ([op("mm", 0, 10, tid=thread) for thread in range(300)], "mm", {}),
    "long": (training(500), "gemm", {}),
}  # fmt: skip


def test_odd_and_long_and_real_traces_are_shown_and_every_event_tells_of_itself(sheet, tmp_path):
    traces = {what: (read(tmp_path, events), *rest) for what, (events, *rest) in ODD.items()}
    for what, (trace, name, facts) in traces.items():
        trace_shown(sheet, trace, tmp_path, EVIL)
        sheet.evaluate("name => choose(found(words.names.map(matcher(name)))[0])", name)
        assert facts.items() <= said(sheet).items(), what
        assert name in said(sheet)["title"] and said(sheet)["title"] in trace.names, what
        for key in "wsadfmgntrp":
            sheet.keyboard.press(key)
        for button in sheet.locator("#parts button").all():
            button.click()
            assert sheet.evaluate("chosen.span.every(Number.isFinite)"), what
        painted(sheet)
        assert sheet.evaluate("document.documentElement.scrollWidth") <= 1366, what
        assert sheet.locator("b", has_text="evil").count() == 0 and sheet.wrong == [], what
    lanes = """name => {
        const { y, height } = blocks.find(block => block.name === name).rows[0], seen = new Set()
        const line = $("lanes").getContext("2d").getImageData(LEFT, y + height / 2, wide, 1).data
        for (let x = 0; x < wide; x++) if (line[4 * x + 2] < 200) seen.add(x)
        return seen.size / wide
    }"""
    sheet.evaluate("zoomTo(0, t.length); draw()")
    assert sheet.evaluate(lanes, "GPU 0, stream 7") > 0.9, "events below a pixel are drawn too"
    if REAL.exists():
        trace_shown(sheet, real("ddp-resnet50-2xA100"), tmp_path)
        assert sheet.evaluate("document.documentElement.scrollHeight") <= 768, "fits a laptop"


def test_one_line_in_a_notebook_shows_the_page_and_stores_a_picture(lab: Lab):
    write(lab.folder / "mine.json", EVENTS)
    code = "from course_utils import traces\ntraces.trace_page('mine.json')"
    write_notebook(lab.folder / "page.ipynb", page=code)
    lab.open("page.ipynb")
    lab.run_all()
    frame = lab.show("page").frame_locator("iframe")
    frame.get_by_text("GPU 0: kernels ran in 85 µs").first.wait_for(timeout=60_000)
    stored = lab.outputs("page")
    assert "[widget] mine.json: a trace of ≈ 14 events in ≈ 200 µs" in stored
    assert "image/png" in stored and len(stored) < 60_000
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}
