"""What the page's cells need: what they say of processes, of the page cache, of another Python."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch

from course_utils.chapters import input_pipeline as chapter
from course_utils.chapters.input_pipeline import page_cells


def worker():
    return multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,), daemon=True)


def test_settled_waits_for_the_last_change():
    begin = time.perf_counter()
    assert chapter.settled(lambda: min(3, int((time.perf_counter() - begin) * 20))) == 3


def test_a_process_that_runs_on_is_seen_and_its_end_too():
    process = worker()
    process.start()
    try:
        assert not chapter.all_ended(seconds=0.05)
    finally:
        process.kill()
    assert chapter.all_ended()


def test_bytes_that_a_child_alone_has_are_its_own():
    process = worker()
    process.start()
    try:
        assert 0 < chapter.own_bytes([process]) < chapter.own_bytes([process, process])
    finally:
        process.kill()
        process.join()


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="only Linux can be asked")
def test_a_forgotten_file_is_whole_when_it_is_read_again(tmp_path):
    file = tmp_path / "kept"
    file.write_bytes(b"abc" * 10_000)
    assert chapter.forget([file])
    assert file.read_bytes() == b"abc" * 10_000


def test_without_a_way_to_ask_nothing_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fadvise", raising=False)
    assert not chapter.forget([tmp_path / "never read"])


def test_workers_are_forked_and_their_number_is_no_warning(recwarn):
    before = multiprocessing.get_start_method(allow_none=True)
    try:
        chapter.prepare()
        assert multiprocessing.get_start_method() == "fork"
        torch.utils.data.DataLoader(range(4), num_workers=os.cpu_count() + 1)
    finally:
        multiprocessing.set_start_method(before, force=True)
    assert not [w for w in recwarn if "worker" in str(w.message)]


def test_a_new_folder_is_empty_and_another_each_time():
    one, other = chapter.new_folder(), chapter.new_folder()
    assert one != other and not [*one.iterdir()]


def loop(_):
    total = 0
    for k in range(1000):
        total += k


def test_without_a_free_threaded_python_nothing_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert chapter.without_gil(loop, 4, (1, 2)) == {}
    assert "not measured" in capsys.readouterr().out


def test_a_python_with_its_lock_is_not_taken_for_one_without(monkeypatch, capsys):
    monkeypatch.setattr(page_cells, "FREE_THREADED", (sys.executable,))
    assert chapter.without_gil(loop, 4, (1, 2)) == {}
    assert "could not run loop" in capsys.readouterr().out


@pytest.mark.skipif(
    not any(map(shutil.which, page_cells.FREE_THREADED)), reason="no free-threaded Python here"
)
def test_a_free_threaded_python_times_each_number_of_threads():
    found = chapter.without_gil(loop, 4, (1, 2))
    assert [*found] == [1, 2] and min(found.values()) > 0


def test_gains_are_shown_as_measured():
    [row] = chapter.gain_rows({"wait": {"2 threads": 1.98765}})
    assert row == {"job": "wait", "2 threads": "≈ 1.99"}


def test_rounded_numbers_are_python_s():
    assert chapter.rounded(torch.tensor([0.12345, 2.0])) == [0.12, 2.0]


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="no file system in memory here")
def test_files_in_memory_cannot_be_made_cold():
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        assert not chapter.forget([Path(file.name)])


def test_a_watch_hears_of_programs_that_run_meanwhile():
    watch = chapter.Watch()
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(1)
        assert watch.others > 0.1
    finally:
        other.kill()
        other.wait()


def test_waiting_takes_no_processor_and_a_loop_does():
    assert chapter.processor_seconds(lambda: time.sleep(0.2)) < 0.1
    assert chapter.processor_seconds(lambda: [loop(0) for _ in range(2000)]) > 0.01
