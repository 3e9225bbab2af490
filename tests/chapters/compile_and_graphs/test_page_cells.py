"""What the page says where nothing can be compiled."""

import os

from course_utils.chapters import compile_and_graphs as chapter


def test_without_a_compiler_the_page_says_what_is_skipped_and_keeps_the_readers_cache(
    monkeypatch, capsys
):
    monkeypatch.setenv("CXX", "/nowhere/c++")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/elsewhere")
    assert chapter.first_use() is None
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/elsewhere"
    said = capsys.readouterr().out
    assert "no C++ compiler was found" in said and "skipped" in said
