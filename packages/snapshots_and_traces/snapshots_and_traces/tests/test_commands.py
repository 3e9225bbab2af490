"""`snapshot FILE` and `trace FILE`: a page, a screen of words, or one line on what is wrong."""

import gzip
import os
import pickle
import webbrowser

import pytest

from snapshots_and_traces.__main__ import main
from snapshots_and_traces.tests.support import snapshot_pages as made
from snapshots_and_traces.tests.support.offline_pages import unpacked
from snapshots_and_traces.tests.support.traces import launched, note, op, span, write

EVENTS = [note("ProfilerStep#3", 0, 40), op("aten::mm", 0, 9), *launched(1, 0, 10, 20)]


@pytest.fixture(autouse=True)
def opened(monkeypatch, tmp_path):
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    monkeypatch.chdir(tmp_path)
    return addresses


def good(command, path):
    return write(path, EVENTS) if command == "trace" else made.healthy().dump(path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_is_told_within_a_screen_and_step_by_step_where_that_is_asked_for(
    packed, tmp_path, capsys
):
    file = str(write(tmp_path / "mine.json", EVENTS, packed))
    assert main(["trace", file]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("mine.json: 4 events, on GPU 0") and len(lines) < 24
    assert lines[-1].startswith("Look first at ") and "ProfilerStep#3, 40 µs" not in lines[2]
    assert main(["trace", file, "--steps"]) == 0
    assert "  ProfilerStep#3, 40 µs: 50% computing" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command, says",
    [
        ("trace", "[trace] mine: 4 events, on GPU 0"),
        ("snapshot", "[snapshot] mine: At the peak, after event 14 of 116"),
    ],
)
def test_its_page_is_written_where_it_is_wanted_opened_and_its_path_printed(
    command, says, tmp_path, opened, capsys
):
    file = str(good(command, tmp_path / "mine"))
    page = ["--page"] if command == "trace" else []
    named, kept = tmp_path / "page.html", tmp_path / "mine.html"
    assert main([command, file, "--out", str(named)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(says) and said[1] == f"Open in a browser: {named.resolve()}"
    shown = unpacked(named.read_text())[0]
    assert "aten::mm" in shown["names"] if page else shown["devices"][0]["peak"] == 14
    assert main([command, file, *page]) == 0
    assert main([command, file, "--no-open", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "mine.html").exists() and opened == [named.as_uri(), kept.as_uri()]


def test_a_device_is_shown_first(tmp_path):
    file = tmp_path / "two"
    file.write_bytes(pickle.dumps(made.of_devices(made.healthy(4), made.healthy(1))))
    for device in (0, 1):
        assert main(["snapshot", str(file), "--device", str(device), "--out", str(tmp_path)]) == 0
        assert unpacked((tmp_path / "two.html").read_text())[0]["first"] == device


class Evil:
    def __reduce__(self):
        return os.mkdir, ("this_must_not_be_there",)


HEALTHY = made.healthy().snapshot()
EMPTY = pickle.dumps({"segments": [], "device_traces": []})
NO_EVENTS = pickle.dumps({**HEALTHY, "device_traces": [[]]})
WRONG = [
    ("trace", None, "isn't there"),
    ("trace", b"", "it is empty"),
    ("trace", b"PK\x03\x04", "it isn't JSON"),
    ("trace", EMPTY, "snapshots_and_traces snapshot"),
    ("trace", gzip.compress(b'{"traceEvents": [' + b" " * 4000)[:-9], "gzip stream is cut off"),
    ("trace", b'{"traceEvents": [{"ph"', "it was cut off"),
    ("trace", [span("browser", "paint", 0, 5)], "it has neither kernels nor operators"),
    ("snapshot", None, "isn't there"),
    ("snapshot", b"PK\x03\x04 not a pickle", "it isn't a whole pickle file"),
    ("snapshot", pickle.dumps(HEALTHY)[:-9], "isn't a whole pickle file"),
    ("snapshot", pickle.dumps({"weights": [1]}), "no `segments` and `device_traces`"),
    ("snapshot", pickle.dumps(Evil()), "it asks for"),
    ("snapshot", EMPTY, "has no events: nothing to show"),
    ("snapshot", NO_EVENTS, "_record_memory_history() before the work"),
    ("snapshot --device 3", pickle.dumps(HEALTHY), "nothing of device 3"),
]


@pytest.mark.parametrize("command, content, said", WRONG, ids=[f"{c}: {s}" for c, _, s in WRONG])
def test_what_is_wrong_is_one_line_without_a_trace(
    command, content, said, tmp_path, opened, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    if isinstance(content, list):
        write(tmp_path / "given", content)
    elif content is not None:
        (tmp_path / "given").write_bytes(content)
    for options in ([], ["--out", "page.html"]):
        assert main([*command.split(), "given", *options]) == 1
        told = capsys.readouterr()
        assert said in told.err and "given" in told.err and told.out == ""
        assert told.err.count("\n") == 1 and "Traceback" not in told.err
    assert opened == [] and {*os.listdir(tmp_path)} <= {"given"}


@pytest.mark.parametrize("command", ["trace", "snapshot"])
def test_a_folder_and_a_place_that_cannot_be_written_are_one_line_too(command, tmp_path, capsys):
    file = good(command, tmp_path / "mine")
    before = file.read_bytes()
    for arguments, said in (
        ([tmp_path], "is a folder: give the file"),
        ([file, "--out", file / "below.html"], "mine"),
        ([file, "--out", file], "is the file itself"),
    ):
        assert main([command, *map(str, arguments)]) == 1
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1
    assert file.read_bytes() == before
