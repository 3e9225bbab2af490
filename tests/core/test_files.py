"""Files are found by a chapter's name, and written whole or not at all."""

import os

import pytest

from course_utils.core import files
from course_utils.core.files import chapter_path

pytestmark = pytest.mark.without_torch


@pytest.mark.parametrize("content", ["≈ 3 µs\n", b"\x80\x04\n"], ids=["text", "bytes"])
def test_what_was_written_is_what_is_there_byte_for_byte(tmp_path, content):
    path = tmp_path / "a" / "b"
    files.write_whole(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert os.listdir(path.parent) == ["b"]


@pytest.mark.parametrize("content", [b"new", "no UTF-8: \ud800"], ids=["no room", "no text"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, content, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    path = tmp_path / "kept"
    files.write_whole(path, "old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((OSError, UnicodeError)):
        files.write_whole(path, content)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["kept"]


@pytest.mark.parametrize("name", ["02", "02_async_execution", "notebooks/02_async_execution.ipynb"])
def test_a_chapter_is_found_by_its_number_name_or_path(name):
    assert chapter_path(name).stem == "02_async_execution"
