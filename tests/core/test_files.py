"""Files are found by a chapter's name, and written whole or not at all."""

import os

import pytest

from course_utils.core import files

pytestmark = pytest.mark.without_torch


def test_a_file_is_written_byte_for_byte_and_a_write_that_fails_leaves_the_old_one(
    tmp_path, monkeypatch
):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    path = tmp_path / "new" / "kept"
    files.write_whole(path, b"\x80\x04\n")
    assert path.read_bytes() == b"\x80\x04\n"
    files.write_whole(path, "≈ 3 µs\n")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError):
        files.write_whole(path, b"newer")
    assert path.read_bytes() == "≈ 3 µs\n".encode() and os.listdir(path.parent) == ["kept"]


@pytest.mark.parametrize("name", ["02", "02_async_execution", "notebooks/02_async_execution.ipynb"])
def test_a_chapter_is_found_by_its_number_name_or_path(name):
    assert files.chapter_path(name).stem == "02_async_execution"
