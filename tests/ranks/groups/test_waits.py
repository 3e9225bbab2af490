"""What threads wait for: their own frames say it, without a peer that answers."""

import threading
import time
from contextlib import contextmanager
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from course_utils.ranks.groups import flight, notes, waits


@pytest.fixture
def group(tmp_path):
    """A default group of this process alone, with torch's doors wrapped."""
    notes.install()
    dist.init_process_group(
        "gloo", store=dist.FileStore(str(tmp_path / "s"), 1), rank=0, world_size=1
    )
    yield dist.group.WORLD
    dist.destroy_process_group()


@contextmanager
def thread(work, *args):
    """A thread that works, once it had a moment to begin; its id."""
    found = threading.Thread(target=work, args=args, daemon=True)
    found.start()
    time.sleep(0.2)
    yield found.ident


def seen(main, pending=()):
    return waits.of_process(main, list(pending))


def test_a_key_that_nobody_set_is_a_need_with_its_patience(tmp_path):
    notes.install()
    store = dist.FileStore(str(tmp_path / "store"), 1)
    with thread(store.wait, ["a", "b"], timedelta(seconds=3)) as main:
        (need,) = seen(main)["needs"]
        assert (need["kind"], need["keys"], need["seconds"]) == ("key", ["a", "b"], 3)
        assert seen(main)["waits"]
        store.set("a", "1")
        store.set("b", "1")


def test_who_sleeps_or_reads_a_file_waits_for_nobody():
    with thread(time.sleep, 1) as main:
        assert seen(main)["needs"] == [] and not seen(main)["waits"]


def test_threads_that_wait_for_work_arent_acting_and_others_are():
    from concurrent.futures import ThreadPoolExecutor

    others = set(seen(threading.get_ident())["acting"])  # whoever else runs tests in this process
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool, thread(stop.wait), thread(time.sleep, 1):
        pool.submit(int).result()
        acting = set(seen(threading.get_ident())["acting"]) - others
        stop.set()
    assert acting and all("sleep" in name for name in acting)


def test_a_main_thread_that_joins_one_that_waits_waits_too(tmp_path):
    notes.install()
    store = dist.FileStore(str(tmp_path / "store"), 1)
    inner = threading.Thread(target=store.get, args=("k",), daemon=True)
    inner.start()
    with thread(inner.join) as main:
        assert seen(main)["waits"] and seen(main)["needs"][0]["keys"] == ["k"]
    with thread(inner.join, 30) as main:  # it will come back by itself
        assert not seen(main)["waits"]
    store.set("k", "1")


def test_what_a_process_did_is_counted_by_group_peer_and_tag(group):
    dist.all_reduce(torch.ones(2), op=dist.ReduceOp.MAX)
    dist.broadcast(torch.ones(2), 0)
    state = waits.state(flight.entries())
    assert state["me"] == 0 and state["groups"] == {"0": [0]} and state["made"] == {"0": 2}
    assert [call["name"] for call in state["calls"]] == ["allreduce", "broadcast"]


def test_calls_are_told_once_with_operator_root_and_splits(group):
    notes.new_calls()
    dist.all_reduce(torch.ones(2))
    dist.all_reduce(torch.ones(2), op=dist.ReduceOp.MAX)
    dist.all_to_all_single(torch.ones(2), torch.ones(2), [2], [2])
    first, second = notes.new_calls()  # what is as usual isn't told
    assert (first["number"], first["operator"], first["splits"]) == (2, "MAX", [])
    assert (second["number"], second["root"], second["splits"]) == (3, 0, [[2], [2]])
    assert notes.new_calls() == []


def test_functions_of_torch_stay_as_they_are_and_a_note_is_cheap(group):
    import inspect

    assert "def all_reduce" in inspect.getsource(dist.all_reduce)
    assert not hasattr(dist.all_reduce, "kept_by")
    asked = notes._collective("allreduce", lambda *args: None)
    best = min(_seconds(lambda: asked(group, [], None)) for _ in range(7))
    assert best < 5e-6


def _seconds(call, times=2000):
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times
