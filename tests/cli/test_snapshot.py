"""`python -m course_utils snapshot FILE`: a page, or one line that says what is wrong."""

import os
import pickle
import webbrowser

import pytest

from course_utils.__main__ import main
from course_utils.core import files
from tests.support import snapshot_pages as made
from tests.support.offline_pages import unpacked


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/this_must_not_be_there",)


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


def test_the_page_is_written_opened_and_its_path_printed(tmp_path, opened, capsys):
    file, page = made.healthy().dump(tmp_path / "my.pickle"), tmp_path / "page.html"
    assert main(["snapshot", str(file), "--out", str(page)]) == 0
    assert opened == [page.resolve().as_uri()]
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("[snapshot] my.pickle: At the peak, after event 14 of 116")
    assert said[1] == f"Open in a browser: {page.resolve()}"
    assert unpacked(page.read_text())[0]["devices"][0]["peak"] == 14


def test_no_open_only_writes_and_out_may_be_a_folder(tmp_path, opened):
    file = made.healthy().dump(tmp_path / "my.pickle")
    assert main(["snapshot", str(file), "--no-open", "--out", str(tmp_path)]) == 0
    assert opened == [] and (tmp_path / "my.pickle.html").exists()


def test_without_out_the_page_goes_to_build(tmp_path, opened, monkeypatch):
    monkeypatch.setattr(files, "ROOT", tmp_path)
    assert main(["snapshot", str(made.healthy().dump(tmp_path / "my.pickle"))]) == 0
    assert opened == [(tmp_path / "build" / "snapshots" / "my.pickle.html").as_uri()]


def test_a_device_is_shown_first(tmp_path, opened):
    file = tmp_path / "two.pickle"
    file.write_bytes(pickle.dumps(made.of_devices(made.healthy(4), made.healthy(1))))
    for device in (0, 1):
        assert main(["snapshot", str(file), "--device", str(device), "--out", str(tmp_path)]) == 0
        page = (tmp_path / "two.pickle.html").read_text()
        assert unpacked(page)[0]["first"] == device


NO_EVENTS = {**made.healthy().snapshot(), "device_traces": [[]]}


@pytest.mark.parametrize(
    "content, options, said",
    [
        (None, [], "isn't there"),
        (b"PK\x03\x04 not a pickle", [], "it isn't a whole pickle file"),
        (b"", [], "it isn't a whole pickle file"),
        (pickle.dumps({"weights": [1, 2, 3]}), [], "no `segments` and `device_traces`"),
        (pickle.dumps([1, 2]), [], "no `segments` and `device_traces`"),
        (pickle.dumps(Evil()), [], "it asks for"),
        (pickle.dumps({"segments": [], "device_traces": []}), [], "has no events: nothing to show"),
        (pickle.dumps(NO_EVENTS), [], "_record_memory_history() before the work"),
        (pickle.dumps(made.healthy().snapshot()), ["--device", "3"], "nothing of device 3"),
        (pickle.dumps(made.healthy().snapshot())[:-9], [], "isn't a whole pickle file"),
    ],
    ids=[
        "no file", "no pickle", "empty file", "another dict", "another thing", "unsafe", "empty",
        "no events", "no such device", "cut off",
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_without_a_trace(
    content, options, said, tmp_path, opened, capsys
):
    file = tmp_path / "given.pickle"
    if content is not None:
        file.write_bytes(content)
    out = tmp_path / "page.html"
    assert main(["snapshot", str(file), "--out", str(out), *options]) == 1
    error = capsys.readouterr().err
    assert said in error and "given.pickle" in error
    assert error.count("\n") == 1 and "Traceback" not in error
    assert opened == [] and not out.exists()
    assert not os.path.exists("/tmp/this_must_not_be_there")


def test_a_folder_and_a_place_that_cannot_be_written_are_one_line_too(tmp_path, opened, capsys):
    assert main(["snapshot", str(tmp_path)]) == 1
    assert "is a folder: give the file" in capsys.readouterr().err
    file = made.healthy().dump(tmp_path / "my.pickle")
    assert main(["snapshot", str(file), "--out", str(file / "below.html")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    before = file.read_bytes()
    assert main(["snapshot", str(file), "--out", str(file)]) == 1
    assert "is the file itself" in capsys.readouterr().err and file.read_bytes() == before
