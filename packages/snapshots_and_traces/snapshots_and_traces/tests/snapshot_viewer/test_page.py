"""The page as a file and in a notebook: whole by itself, text only, and not stored."""

import json

import pytest

from snapshots_and_traces.snapshot_viewer.data import MOST_LINES
from snapshots_and_traces.snapshot_viewer.page import SnapshotPage, snapshot_page
from snapshots_and_traces.snapshots.loading import load
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.tests.support import snapshot_pages as made
from snapshots_and_traces.tests.support.offline_pages import unpacked

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)>&amp;"


def with_frames(*frames):
    toy = made.healthy(2)
    for event in toy.events:
        event["frames"] = list(frames)
    return toy


def test_a_page_is_one_file_that_asks_for_nothing(tmp_path):
    path = snapshot_page(made.healthy().dump(tmp_path / "a.pickle")).save(tmp_path / "b" / "a.html")
    text = path.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    for outside in ("http://", "https://", "src=", "href=", "@import", "url(", "fetch("):
        assert outside not in text


def test_words_of_a_file_are_never_html_and_neither_steer_a_terminal_nor_fill_a_page(tmp_path):
    hostile = with_frames({"name": EVIL, "filename": f"/{EVIL}.py", "line": 1})
    text = snapshot_page(hostile.dump(tmp_path / "<img src=x onerror=alert(1)>.pickle")).html
    assert "<img" not in text and "<script>alert" not in text
    assert any(text.startswith(EVIL) for text, _, _ in unpacked(text)[0]["lines"])
    for script in SnapshotPage.scripts:
        assert "innerHTML" not in (SnapshotPage.folder / script).read_text()

    name = "\x1b]0;mine\x07\u202e" + "a" * 5000
    steering = with_frames({"name": name, "filename": "/x.py", "line": 1})
    said = repr(snapshot_page(steering.snapshot()))
    assert "was asked for by ?]0;mine??aaa" in said
    assert said.isprintable() and len(said) < 300

    frames = [{"name": "f", "filename": "/x.py", "line": line} for line in range(5000)]
    words = snapshot_page(with_frames(*frames).snapshot()).words
    assert max(map(len, words["stacks"])) == MOST_LINES + 1
    assert words["lines"][words["stacks"][-1][-1]][0] == "… and 4,800 more"


def test_a_path_a_dict_and_a_snapshot_give_the_same_page_and_a_notebook_stores_a_line(tmp_path):
    toy = made.healthy()
    path = toy.dump(tmp_path / "toy.pickle")
    pages = [snapshot_page(one) for one in (path, str(path), load(path), toy.snapshot())]
    assert len({page.data for page in pages}) == 1
    assert [page.name for page in pages][2:] == ["toy.pickle", "the dict"]
    bundle, _ = pages[3]._repr_mimebundle_()
    assert bundle["text/plain"] == repr(pages[3])
    assert repr(pages[3]).startswith("[snapshot] the dict: At the peak, after event 14 of 116")
    assert "\n" not in repr(pages[3])
    assert len(json.dumps(bundle)) < 1000 and "text/html" not in bundle


def test_of_several_devices_the_line_says_which_and_one_without_events_can_be_shown():
    content = made.of_devices(made.healthy(1), made.healthy(4))
    assert "the dict: device 1 of 2. At the peak" in repr(snapshot_page(content))
    assert "the dict: device 0 of 2. At the peak" in repr(snapshot_page(content, device=0))
    with pytest.raises(ValueError, match=r"nothing of device 5; it has \[0, 1\]"):
        snapshot_page(content, device=5)
    content["device_traces"][1] = []
    words, _ = unpacked(snapshot_page(content, device=1).html)
    assert words["devices"][1]["events"] == 0 and words["first"] == 1
    assert "340.0 MiB reserved" in words["devices"][1]["sentence"]


def with_event(place, **changes):
    content = made.healthy().snapshot()
    content["device_traces"][0][place].update(changes)
    return content


def test_a_dict_that_is_no_snapshot_or_cannot_be_is_refused_in_one_sentence(monkeypatch):
    for content, said in (
        ({"weights": [1, 2]}, "the dict is refused: it holds no `segments`"),
        ({"segments": lambda: 1, "device_traces": []}, "a list belongs it has function"),
        (with_event(1, size=2**62), "no GPU has that"),
    ):
        with pytest.raises(SnapshotError, match=said) as refused:
            snapshot_page(content)
        assert "\n" not in str(refused.value)
    for time in (-(2**63), 2**63 - 1, 0):  # odd clocks are shown
        assert "340.0 MiB were allocated" in repr(snapshot_page(with_event(5, time_us=time)))
    monkeypatch.setattr("snapshots_and_traces.snapshot_viewer.data.MOST_RANGES", 3)
    with pytest.raises(SnapshotError, match=r"it maps 16 pages, too many to show\.$"):
        snapshot_page(made.full_of_holes().snapshot())


def test_with_an_earlier_snapshot_what_grew_is_told_and_each_has_its_own_stacks(tmp_path):
    before = made.healthy().dump(tmp_path / "before.pickle")
    after = made.read(made.healthy(leaked_bytes=2**20))
    page = snapshot_page(after, before=before)
    said = "Since before.pickle, 6.00 MiB more is held at the peak in all; update,"
    assert said in repr(page)
    words, _ = unpacked(page.html)
    assert words["names"] == ["before.pickle", after.name]
    assert [one["earlier"] for one in words["devices"]] == [False, True]
    assert len(words["stacks"]) == len(after.stacks) + len(load(before).stacks)
    same = snapshot_page(after, before=after).words["grown"]
    assert {was == now for _, was, now in same} == {True}
