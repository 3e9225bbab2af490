"""The page as a file and in a notebook: whole by itself, text only, and not stored."""

import json

import pytest

from course_utils import memory
from course_utils.memory.page.data import MOST_LINES
from course_utils.memory.page.page import SnapshotPage, snapshot_page
from course_utils.memory.snapshots.safe_pickle import SnapshotError
from course_utils.memory.snapshots.snapshot import load
from tests.support import snapshot_pages as made
from tests.support.offline_pages import unpacked

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>&amp;"


def hostile():
    toy = made.healthy(2)
    for event in toy.events:
        event["frames"] = [{"name": EVIL, "filename": f"/{EVIL}.py", "line": 1}]
    return toy


def test_a_page_is_one_file_that_asks_for_nothing(tmp_path):
    path = snapshot_page(made.healthy().dump(tmp_path / "a.pickle")).save(tmp_path / "b" / "a.html")
    text = path.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    for outside in ("http://", "https://", "src=", "href=", "@import", "url(", "fetch("):
        assert outside not in text


def test_words_of_a_file_are_never_html(tmp_path):
    path = hostile().dump(tmp_path / "<img src=x onerror=alert(1)>.pickle")
    text = snapshot_page(path).html
    assert "<img" not in text and "<script>alert" not in text
    words, _ = unpacked(text)
    assert any(text.startswith(EVIL) for text, _, _ in words["lines"])
    for script in SnapshotPage.scripts:
        assert "innerHTML" not in (SnapshotPage.folder / script).read_text()


def test_a_name_can_neither_steer_a_terminal_nor_turn_the_line_round_nor_fill_it():
    toy = made.healthy(2)
    name = "\x1b]0;mine\x07\u202e" + "a" * 5000
    for event in toy.events:
        event["frames"] = [{"name": name, "filename": "/x.py", "line": 1}]
    said = repr(snapshot_page(toy.snapshot()))
    assert "was asked for by ?]0;mine??aaa" in said
    assert said.isprintable() and len(said) < 300


def test_a_stack_of_thousands_of_frames_is_cut():
    toy = made.healthy(2)
    frames = [{"name": "f", "filename": "/x.py", "line": line} for line in range(5000)]
    for event in toy.events:
        event["frames"] = frames
    stacks, lines = (snapshot_page(toy.snapshot()).words[key] for key in ("stacks", "lines"))
    assert max(map(len, stacks)) == MOST_LINES + 1
    assert lines[stacks[-1][-1]][0] == "… and 4,800 more"


def test_a_trace_that_maps_millions_of_pages_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr("course_utils.memory.page.data.MOST_RANGES", 3)
    with pytest.raises(SnapshotError, match=r"it maps 8 pages, too many to show\.$"):
        snapshot_page(ranges_of_eight())


def ranges_of_eight():
    toy = made.healthy(0)
    for _ in range(7):
        toy.alloc(30 * made.MIB, "main")
    return toy.snapshot()


def test_a_path_a_dict_and_a_snapshot_give_the_same_page(tmp_path):
    toy = made.healthy()
    path = toy.dump(tmp_path / "toy.pickle")
    pages = [memory.snapshot_page(one) for one in (path, str(path), load(path), toy.snapshot())]
    assert len({page.data for page in pages}) == 1
    assert [page.name for page in pages][2:] == ["toy.pickle", "the dict"]


def test_a_notebook_stores_one_line_of_text(monkeypatch):
    page = memory.snapshot_page(made.healthy().snapshot())
    bundle, _ = page._repr_mimebundle_()
    assert bundle["text/plain"] == repr(page)
    assert repr(page).startswith("[snapshot] the dict: At the peak, after event 14 of 116")
    assert "\n" not in repr(page)
    assert len(json.dumps(bundle)) < 1000 and "text/html" not in bundle


def test_of_several_devices_the_line_says_which():
    content = made.of_devices(made.healthy(1), made.healthy(4))
    assert "the dict: device 1 of 2. At the peak" in repr(snapshot_page(content))
    assert "the dict: device 0 of 2. At the peak" in repr(snapshot_page(content, device=0))


@pytest.mark.parametrize(
    "content, said",
    [
        ({"segments": [], "device_traces": [[]]}, "has no events: nothing to show"),
        (
            {**made.healthy().snapshot(), "device_traces": [[]]},
            r"has no events, only 340.0 MiB that are held: nothing to show.*_record_memory_history",
        ),
        ({"weights": [1, 2]}, "the dict is refused: it holds no `segments`"),
        ({"segments": lambda: 1}, "the dict is refused: it isn't plain data"),
        ({"segments": print, "device_traces": []}, "it asks for builtins.print"),
    ],
    ids=["empty", "no events", "something else", "no data", "code"],
)
def test_what_is_no_snapshot_is_one_sentence(content, said):
    with pytest.raises(SnapshotError, match=said) as refused:
        snapshot_page(content)
    assert "\n" not in str(refused.value)


def test_a_device_without_events_can_be_shown_beside_one_that_has_some():
    idle = made.healthy(1)
    content = made.of_devices(made.healthy(2), idle)
    content["device_traces"][1] = []
    words, _ = unpacked(snapshot_page(content, device=1).html)
    assert words["devices"][1]["events"] == 0 and words["first"] == 1
    assert "340.0 MiB reserved" in words["devices"][1]["sentence"]


def test_bytes_that_no_machine_has_are_refused_and_odd_clocks_are_shown():
    content = made.healthy().snapshot()
    content["device_traces"][0][1]["size"] = 2**62
    with pytest.raises(SnapshotError, match="no GPU has that"):
        snapshot_page(content)
    odd = made.healthy().snapshot()
    for place, time in ((0, -(2**63)), (5, 2**63 - 1), (9, 0)):
        odd["device_traces"][0][place]["time_us"] = time
    assert "340.0 MiB were allocated" in repr(snapshot_page(odd))
