"""What the page says where nothing can be compiled."""

import os

import pytest

from course_utils.chapters import compile_and_graphs as chapter
from course_utils.traces import published_trace
from snapshots_and_traces.traces.kernel_classes import seconds_by_class


def test_without_a_compiler_the_page_says_what_is_skipped_and_keeps_the_readers_cache(
    monkeypatch, capsys
):
    monkeypatch.setenv("CXX", "/nowhere/c++")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/elsewhere")
    assert chapter.first_use() is None
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/elsewhere"
    said = capsys.readouterr().out
    assert "no C++ compiler was found" in said and "skipped" in said


def test_the_kernels_that_stay_are_the_convolutions_and_matmuls_where_one_stream_runs():
    trace = published_trace("resnet_v100")
    whole, busy, stays, _ = chapter.kernel_times(trace)
    classes = seconds_by_class(trace, 0)
    assert stays == pytest.approx(classes["convolution"] + classes["matrix product"], rel=0.01)
    assert whole > busy == pytest.approx(sum(classes.values()) - classes["copy"], rel=0.01)


def test_kernels_that_convert_a_layout_are_a_part_of_the_convolutions():
    trace = published_trace("ddp_resnet50")
    *_, converts = chapter.kernel_times(trace)
    assert 0 < converts < seconds_by_class(trace, 0)["convolution"]
