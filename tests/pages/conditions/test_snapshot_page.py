"""A snapshot's page in a real browser: from a file, and from one line in a notebook."""

from typing import Any
from urllib.parse import urlparse

import pytest

from snapshots_and_traces.snapshot_viewer.groups import groups
from snapshots_and_traces.snapshot_viewer.memory_map import map_at
from snapshots_and_traces.snapshot_viewer.page import snapshot_page
from snapshots_and_traces.snapshots.lives import history
from snapshots_and_traces.tests.support import snapshot_pages as made
from snapshots_and_traces.tests.support.snapshots import some_work
from snapshots_and_traces.tests.support.trace_pages import drag, painted, shown, write_notebook
from snapshots_and_traces.tests.support.traces import training, write
from snapshots_and_traces.trace_viewer.page import trace_page
from snapshots_and_traces.units import size_text
from tests.pages.conditions.lab import HOST, Lab, needs_browser

pytestmark = [
    needs_browser,
    pytest.mark.thorough("packages/snapshots_and_traces"),
]
EVIL = "<script>alert('x')</script><b>evil"


def test_a_snapshots_page_answers_the_pointer_the_keys_and_the_choice_of_a_device(sheet, tmp_path):
    toy = made.busy()
    both = made.of_devices(toy, made.healthy(leaked_bytes=3 * made.MIB))
    shown(sheet, snapshot_page(both), tmp_path)
    text, events = sheet.locator("#sentence"), f"{len(toy.events):,}"
    assert f"of {events}" in text.inner_text()
    assert "The largest part, 400.0 MiB" in text.inner_text()
    assert sheet.locator("#held-title").inner_text().startswith("Who holds ")
    assert "main, main.py:10" in sheet.locator("#holders tr").first.inner_text()
    findings = sheet.locator("#findings")
    assert "Out of memory at event " in findings.inner_text()
    assert "900.0 MiB were asked for while" in findings.inner_text()
    assert sheet.evaluate("document.documentElement.scrollWidth") <= 1366

    title = sheet.locator("#event-title")
    sheet.keyboard.press("Home")
    assert title.inner_text() == f"Before the first of {events} events"
    sheet.keyboard.press("ArrowRight")
    assert title.inner_text().startswith(f"Event 1 of {events}: segment_alloc 400.0 MiB at 0x7f00")
    assert sheet.locator("#map-title").inner_text().startswith("1 segment, 400.0 MiB: 0 B in use")
    sheet.keyboard.press("ArrowRight")
    assert title.inner_text().startswith(f"Event 2 of {events}: alloc 400.0 MiB")
    assert sheet.locator("#stack").inner_text() == "main, main.py:10"
    assert title.locator("span").get_attribute("title") == "419,430,400 B"
    sheet.keyboard.press("o")
    first = sheet.evaluate("moment")
    sheet.get_by_role("button", name="next out of memory").click()
    assert sheet.evaluate("moment") > first
    assert "oom 900.0 MiB, 10.0 MiB left on the device" in title.inner_text()

    row = sheet.locator("#holders tr", has_text="forward, forward.py:12")
    row.get_by_role("button").click()
    assert row.locator(".stack").inner_text().split("\n") == [
        "forward, forward.py:12", "step, step.py:11", "main, main.py:10",
    ]  # fmt: skip
    assert row.get_by_role("button").evaluate("button => button === document.activeElement")
    sheet.locator("#slider").focus()
    sheet.keyboard.press("ArrowLeft")
    assert sheet.evaluate("document.activeElement.id") == "slider"
    assert title.locator("small").inner_text() != ""

    curve = sheet.locator("#timeline")
    whole = curve.get_attribute("aria-label")
    assert whole == f"Allocated and reserved bytes, events 0 to {events}"
    curve.hover(position={"x": 500, "y": 230})
    assert "main, main.py:10: 400.0 MiB" in sheet.locator("#tip").inner_text()
    sheet.mouse.wheel(0, -300)
    sheet.wait_for_function("low > 0 || high < page.end")
    painted(sheet)
    near = curve.get_attribute("aria-label")
    assert near != whole
    drag(sheet, curve, 300, 600, at=100)
    painted(sheet)
    assert curve.get_attribute("aria-label") not in (whole, near)
    sheet.get_by_role("button", name="show all").click()
    painted(sheet)
    assert curve.get_attribute("aria-label") == whole
    sheet.keyboard.press("w")
    assert sheet.evaluate("high - low < page.end")
    sheet.keyboard.press("r")
    for x in range(440, 300, -20):
        curve.hover(position={"x": x, "y": 100})
        told = sheet.locator("#tip").inner_text().split("\n")[0]
        curve.click(position={"x": x, "y": 100})
        assert told == f"event {sheet.evaluate('count(moment)')}"
    curve.click(position={"x": 300, "y": 100})
    assert title.inner_text().split(" of ")[0] == f"Event {at(curve, 300, len(toy.events)):,}"

    sheet.get_by_label("device").select_option("1")
    assert "358.0 MiB were allocated of 360.0 MiB reserved" in text.inner_text()
    assert "update, update.py:14 holds more after every step" in findings.inner_text()
    assert sheet.wrong == []


def test_what_is_searched_for_is_found_and_a_block_says_who_asked_for_it(sheet, tmp_path):
    toy = made.healthy()
    shown(sheet, snapshot_page(toy.snapshot()), tmp_path)
    wanted = [
        number
        for number, event in enumerate(toy.events, 1)
        if any(frame["name"] == "backward" for frame in event["frames"])
    ]
    sheet.keyboard.press("Home")
    sheet.keyboard.press("/")
    sheet.keyboard.type("backWARD")
    assert sheet.locator("#result").inner_text() == f"{len(wanted)} found"
    for place, moment in enumerate(wanted[:3], 1):
        sheet.keyboard.press("Enter")
        assert sheet.evaluate("moment") == moment
        assert sheet.locator("#result").inner_text() == f"{place} of {len(wanted)} found"
        assert "backward, backward.py" in sheet.locator("#stack").inner_text()
    sheet.get_by_role("button", name="previous").click()
    assert sheet.evaluate("moment") == wanted[1]
    sheet.keyboard.press("Escape")
    first = toy.events[1]
    for text, found in (
        (hex(first["addr"]), True),
        ("nowhere", False),
        ("segment_", True),
        ("/^free_.*d$/", True),
    ):
        sheet.locator("#text").fill(text)
        assert (sheet.locator("#result").inner_text() != "0 found") is found
    sheet.locator("#text").fill("")
    assert sheet.locator("#result").inner_text() == ""

    sheet.locator("#timeline").focus()
    sheet.keyboard.press("p")
    sheet.locator("#map").click(position={"x": 20, "y": 4})
    title = sheet.locator("#event-title").inner_text()
    assert title.startswith(
        "A block of 200.0 MiB, since event 2, never freed. Go to: its first event"
    )
    assert sheet.locator("#stack").inner_text() == "main, main.py:10"
    sheet.get_by_role("button", name="its first event").click()
    assert sheet.locator("#event-title").inner_text().startswith("Event 2 of ")
    assert sheet.wrong == []


def test_two_snapshots_say_what_grew_and_both_curves_are_drawn(sheet, tmp_path):
    page = snapshot_page(
        made.read(made.healthy(leaked_bytes=3 * made.MIB)), before=made.healthy().snapshot()
    )
    assert "18.0 MiB more is held at the peak in all; update, update.py:14: 18.0" in repr(page)
    shown(sheet, page, tmp_path)
    assert "each at its peak" in sheet.locator("#grown-title").inner_text()
    rows = [row.split("\t") for row in sheet.locator("#grown-rows tr").all_inner_texts()]
    assert rows[0] == ["all together", "340.0 MiB", "358.0 MiB", "+18.0 MiB"]
    assert rows[1] == ["update, update.py:14", "0 B", "18.0 MiB", "+18.0 MiB"]
    assert ["main, main.py:10", "200.0 MiB", "200.0 MiB", "+0 B"] in rows
    assert "dashed: the dict, allocated" in sheet.locator("#legend").inner_text()
    sheet.locator("#grown-rows button").first.click()
    assert sheet.locator("#holders tr.open").inner_text().startswith("update, update.py:14")
    sheet.get_by_label("device").select_option("0 of the dict")
    assert "340.0 MiB were allocated of" in sheet.locator("#sentence").inner_text()
    assert sheet.wrong == []


@pytest.mark.parametrize("kind", ["snapshot", "trace"])
def test_a_dark_preference_is_followed(sheet, kind, tmp_path):
    canvas = "timeline" if kind == "snapshot" else "ruler"
    ink = f"""() => {{
        const {{ data }} = $("{canvas}").getContext("2d").getImageData(0, 0, 60, 400)
        let sum = 0, parts = 0
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250) sum += data[i], parts++
        return sum / parts
    }}"""
    if kind == "snapshot":
        shown(sheet, snapshot_page(made.healthy().snapshot()), tmp_path)
    else:
        shown(sheet, trace_page(write(tmp_path / "t.json", training(2))), tmp_path)
    assert sheet.evaluate(ink) < 120, "what is written beside the axes"
    sheet.emulate_media(color_scheme="dark")
    sheet.wait_for_timeout(500)
    assert sheet.evaluate(ink) > 150
    colour = sheet.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(28, 28, 30)" and sheet.wrong == []


def at(curve: Any, x: int, events: int) -> int:
    """The event under a place of the whole curve: 58 pixels of axis, 8 of margin."""
    return round((x - 58) / (int(curve.bounding_box()["width"]) - 58 - 8) * events)


def test_a_small_window_has_one_column_and_what_a_file_says_is_text(sheet, tmp_path):
    sheet.set_viewport_size({"width": 640, "height": 480})
    toy = made.busy()
    evil = [{"name": EVIL + "f" * 1900, "filename": f"/{EVIL}.py", "line": 1}]
    toy.events = [{**event, "frames": evil} for event in toy.events]
    for _ in range(50):
        made.out_of_memory(toy, 900 * made.MIB, 0)
    shown(sheet, snapshot_page(toy.dump(tmp_path / f"{EVIL.replace('/', '')}.pickle")), tmp_path)
    assert sheet.evaluate("document.documentElement.scrollWidth") <= 640
    assert sheet.locator("#timeline").bounding_box()["width"] > 580
    assert sheet.locator("#wrong-title").inner_text() == "What looks wrong (1)"
    sheet.get_by_text("What the words mean").click()
    assert "Reserved is what the allocator holds" in sheet.locator("#words").inner_text()
    assert EVIL in sheet.locator("#sentence").inner_text()
    assert EVIL in sheet.locator("#legend").inner_text()
    assert "<b>evil" in sheet.locator("h1").inner_text()
    assert sheet.locator("b").count() == 0 and sheet.wrong == []


@pytest.mark.parametrize("expandable, last", [(False, None), (True, 150)])
def test_every_moment_of_a_page_is_the_librarys(sheet, tmp_path, expandable, last):
    snapshot = made.read(some_work(expandable), last)
    of = history(snapshot)
    shown(sheet, snapshot_page(snapshot), tmp_path)
    assert sheet.evaluate("Array.from(d.live)") == of.live.tolist()
    assert sheet.evaluate("Array.from(d.reserved)") == of.reserved.tolist()
    names = [name for name, _ in groups(of)]
    for moment in (0, of.peak // 2, of.peak, of.moments - 1):
        held = dict.fromkeys(names, 0)
        for site, size in of.bytes_of_sites(moment).items():
            held[site] += size
        banded = sheet.evaluate("m => Array.from(stacked(Int32Array.of(0, m))[1])", moment)
        assert dict(zip(names, banded, strict=True)) == held
        sheet.evaluate("m => go(m)", moment)
        title = sheet.locator("#map-title").inner_text()
        reserved, live = size_text(int(of.reserved[moment])), size_text(int(of.live[moment]))
        here = of.allocations.at(moment)
        slack = size_text(int((of.block_sizes - of.allocations.size)[here].sum()))
        assert f"{reserved}: {live} in use, {slack} slack" in title
        assert f"largest free block {size_text(map_at(of, moment).largest_free)})" in title
        assert sheet.locator("#held-title").inner_text().startswith(f"Who holds {live} after")
        rows = [row.split("\t") for row in sheet.locator("#holders tr").all_inner_texts()]
        kept = [[site, size_text(size)] for site, size in of.bytes_of_sites(moment).items()]
        assert sorted(row[:2] for row in rows) == sorted(kept)
    assert sheet.wrong == []


def test_one_line_in_a_notebook_shows_the_page_and_stores_a_line(lab: Lab):
    made.healthy().dump(lab.folder / "toy.pickle")
    code = "from snapshots_and_traces import snapshot_page\nsnapshot_page('toy.pickle')"
    write_notebook(lab.folder / "page.ipynb", page=code)
    lab.open("page.ipynb")
    lab.run_all()
    frame = lab.show("page").frame_locator("iframe")
    frame.get_by_text("At the peak, after event 14 of 116").first.wait_for(timeout=60_000)
    frame.get_by_text("Who holds 340.0 MiB").first.wait_for(timeout=60_000)
    stored = lab.outputs("page")
    assert "[snapshot] toy.pickle: At the peak" in stored and len(stored) < 2000
    assert {urlparse(address).hostname for address in lab.requests} <= {HOST, None, ""}
