"""`python -m course_utils trace FILE`: a screen of words, or one line that says what is wrong."""

import gzip
import pickle
import webbrowser

import pytest

from course_utils.__main__ import main
from course_utils.core import files
from tests.support.offline_pages import unpacked
from tests.support.traces import launched, note, op, span, write

EVENTS = [note("ProfilerStep#3", 0, 40), op("aten::mm", 0, 9), *launched(1, 0, 10, 20)]


@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_is_told_within_a_screen(packed, tmp_path, capsys):
    file = write(tmp_path / "mine.json", EVENTS, packed)
    assert main(["trace", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("mine.json: 4 events, on GPU 0") and len(lines) < 24
    assert lines[-1].startswith("Look first at ") and "ProfilerStep#3, 40 µs" not in lines[2]


def test_steps_are_told_where_they_are_asked_for(tmp_path, capsys):
    assert main(["trace", str(write(tmp_path / "mine.json", EVENTS)), "--steps"]) == 0
    assert "  ProfilerStep#3, 40 µs: 50% computing" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content, said",
    [
        (None, "isn't there"),
        (b"", "it is empty"),
        (b"PK\x03\x04", "it isn't JSON"),
        (pickle.dumps({"segments": [], "device_traces": []}), "course_utils snapshot"),
        (gzip.compress(b'{"traceEvents": [' + b" " * 4000)[:-9], "gzip stream is cut off"),
        (b'{"traceEvents": [{"ph"', "it was cut off"),
    ],
    ids=["no file", "empty", "a zip", "a snapshot", "half a gzip", "half a trace"],
)
def test_what_is_wrong_is_one_line_without_a_trace(content, said, tmp_path, capsys):
    file = tmp_path / "given.json"
    if content is not None:
        file.write_bytes(content)
    assert main(["trace", str(file)]) == 1
    told = capsys.readouterr()
    assert said in told.err and "given.json" in told.err and told.out == ""
    assert told.err.count("\n") == 1 and "Traceback" not in told.err


def test_a_folder_and_a_trace_of_something_else_are_one_line_too(tmp_path, capsys):
    assert main(["trace", str(tmp_path)]) == 1
    assert "is a folder: give the file" in capsys.readouterr().err
    assert main(["trace", str(write(tmp_path / "x.json", [span("browser", "paint", 0, 5)]))]) == 1
    assert "x.json: it has neither kernels nor operators" in capsys.readouterr().err


def test_its_help_says_what_to_give_it(capsys):
    with pytest.raises(SystemExit):
        main(["trace", "--help"])
    assert "export_chrome_trace wrote" in " ".join(capsys.readouterr().out.split())


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


def test_its_page_is_written_opened_and_its_path_printed(tmp_path, opened, capsys, monkeypatch):
    monkeypatch.setattr(files, "ROOT", tmp_path)
    assert main(["trace", str(write(tmp_path / "mine.json", EVENTS)), "--page"]) == 0
    page = tmp_path / "build" / "traces" / "mine.json.html"
    assert opened == [page.as_uri()]
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("[trace] mine.json: 4 events, on GPU 0")
    assert said[1] == f"Open in a browser: {page}"
    assert "aten::mm" in unpacked(page.read_text())[0]["names"]


def test_its_page_goes_where_it_is_told_and_is_opened_unless_told_not_to(tmp_path, opened):
    file = write(tmp_path / "mine.json", EVENTS)
    assert main(["trace", str(file), "--page", "--no-open", "--out", str(tmp_path)]) == 0
    assert opened == [] and (tmp_path / "mine.json.html").exists()
    assert main(["trace", str(file), "--out", str(tmp_path / "other.html")]) == 0
    assert opened == [(tmp_path / "other.html").as_uri()]


def test_what_is_wrong_with_a_page_is_one_line_too(tmp_path, opened, capsys):
    file = write(tmp_path / "mine.json", [span("browser", "paint", 0, 5)])
    for arguments in (
        [str(file)], [str(tmp_path / "none.json")], [str(tmp_path)],
        [str(file), "--out", str(file)], [str(file), "--out", str(file / "below.html")],
    ):  # fmt: skip
        assert main(["trace", *arguments, "--page"]) == 1
        told = capsys.readouterr()
        assert told.err.count("\n") == 1 and "Traceback" not in told.err and told.out == ""
    assert opened == [] and file.read_text().startswith("{")
