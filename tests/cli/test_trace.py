"""`python -m course_utils trace FILE`: a screen of words, or one line that says what is wrong."""

import gzip
import pickle

import pytest

from course_utils.__main__ import main
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
