"""Chains that go everywhere, and waits whose processes and files are gone afterwards."""

import pytest
import torch

from course_utils.chapters.your_machine import latency_trials
from course_utils.chapters.your_machine.latency_trials import (
    CHASE,
    LINE,
    beyond_memory,
    disk_reads,
    gpu_chain,
    gpu_chain_step,
    loopback_message,
    ring,
)


@pytest.mark.parametrize("stride", [1, LINE])
@pytest.mark.parametrize("n", [8, 64, 4096])
def test_a_chain_goes_from_line_to_line_and_comes_back_after_it_has_been_everywhere(n, stride):
    table, place, seen = ring(8 * stride * n, stride).tolist(), 0, set()
    for _ in range(n):
        seen.add(place)
        place = table[place]
    assert place == 0 and seen == set(range(0, stride * n, stride))


def test_the_gpus_chase_is_a_function_that_torch_can_read():
    parsed = torch.cuda.jiterator._CodeParser(CHASE)
    assert (parsed.function_name, parsed.function_params) == ("chase", "(T at, T table, T key)")
    assert parsed.template_params == "<typename T>"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpus_chain_is_slower_through_its_memory_than_through_its_first_cache():
    near, apart = gpu_chain_step(2**14), gpu_chain_step(2**28)
    assert 5e-9 < near.median < apart.median < 5e-6


def test_a_gpus_chain_ends_where_its_kernel_cannot_be_compiled(monkeypatch):
    found = {4096: "a step", 8192: None, 16384: "never asked"}
    monkeypatch.setattr(latency_trials, "gpu_chain_step", found.get)
    assert gpu_chain(list(found)) == {4096: "a step"} and gpu_chain([]) == {}


@pytest.mark.parametrize("stride, size", [(1, 0), (1, 32), (1, 100), (1, 96), (LINE, 512)])
def test_a_chain_of_another_size_is_refused(stride, size):
    with pytest.raises(ValueError, match="power of two of bytes"):
        ring(size, stride)


def test_a_message_takes_some_time_and_its_process_is_gone_afterwards(monkeypatch):
    started = []
    real = latency_trials.subprocess.Popen
    monkeypatch.setattr(
        latency_trials.subprocess,
        "Popen",
        lambda *a, **k: started.append(real(*a, **k)) or started[-1],
    )
    assert 0 < loopback_message().median < 1
    assert [process.poll() is not None for process in started] == [True]


def test_without_a_network_there_is_no_message(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("no sockets here")

    with monkeypatch.context() as here:
        here.setattr(latency_trials.socket, "create_connection", refuse)
        assert loopback_message() is None
    monkeypatch.setattr(latency_trials, "ECHO", "raise PermissionError('no sockets there')")
    assert loopback_message() is None


def test_the_disk_is_left_out_where_nobody_can_tell_it_from_the_page_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(latency_trials, "_can_ask", lambda: False)
    reads = disk_reads(str(tmp_path))
    assert reads["disk"] is None and 0 < reads["page cache"].median < 1
    assert list(tmp_path.iterdir()) == []


def test_a_page_cache_that_answers_nevertheless_is_not_called_a_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(latency_trials, "_in_memory", lambda file, place: True)
    assert disk_reads(str(tmp_path))["disk"] is None


def test_where_no_file_can_be_written_nothing_is_read(tmp_path):
    assert disk_reads(str(tmp_path / "missing")) == {"page cache": None, "disk": None}


def test_a_wait_that_cannot_be_had_here_is_left_out(monkeypatch):
    monkeypatch.setattr(latency_trials, "disk_reads", lambda: {"page cache": 1, "disk": None})
    monkeypatch.setattr(latency_trials, "loopback_message", lambda: None)
    monkeypatch.setattr(latency_trials, "process_start", lambda: 2)
    assert beyond_memory() == {"4 KiB, from the page cache": 1, "start of a Python": 2}
