"""A trace's page in a real browser: what it says, by pointer and by keyboard alone."""

import re
from typing import Any
from urllib.parse import urlparse

import numpy as np
import pytest

from course_utils.traces import intervals
from course_utils.traces.idle import idle_times
from course_utils.traces.page.kinds import BLOCKING, IDLE, KINDS, MESSAGE
from course_utils.traces.trace import Kind
from tests.pages.conditions.lab import needs_browser
from tests.support.trace_pages import EVENTS, colour, drag, photograph, place, said, shown, view
from tests.support.traces import op, read
from tools.bench.trace_growth import training

pytestmark = needs_browser


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
