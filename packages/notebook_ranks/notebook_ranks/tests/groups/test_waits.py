"""What threads wait for: their own frames say it, without a peer that answers."""

import inspect
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from notebook_ranks.groups import flight, notes, waits


@pytest.fixture
def group(tmp_path):
    """A default group of this process alone, with torch's doors wrapped."""
    notes.install()
    store = dist.FileStore(str(tmp_path / "s"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def started(work, *args):
    """The id of a thread that does this work."""
    found = threading.Thread(target=work, args=args, daemon=True)
    found.start()
    return found.ident


def seen(main, wanted):
    """What is seen of this process, as soon as it is as wanted."""
    end = time.monotonic() + 60
    while not wanted(found := waits.of_process(main, [])) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def test_a_key_that_nobody_set_is_a_need_with_its_patience_of_all_who_wait_for_it(tmp_path):
    notes.install()
    store = dist.FileStore(str(tmp_path / "store"), 1)
    inner = threading.Thread(
        target=store.wait, args=(["a", "b"], timedelta(seconds=90)), daemon=True
    )
    inner.start()
    found = seen(inner.ident, lambda found: found.waits)
    (need,) = found.needs
    assert (need.kind, need.keys, need.seconds) == ("key", ["a", "b"], 90)
    joined = seen(started(inner.join), lambda found: found.waits)  # waits for who waits
    assert joined.waits and joined.needs[0].keys == ["a", "b"]
    assert not waits.of_process(started(inner.join, 90), []).waits  # comes back by itself
    store.set("a", "1")
    store.set("b", "1")
    inner.join(60)


def test_who_sleeps_waits_for_nobody_and_threads_that_wait_for_work_dont_act():
    others = set(waits.of_process(threading.get_ident(), []).acting)  # of whoever runs tests
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        started(stop.wait)
        sleeper = started(time.sleep, 5)
        assert not waits.of_process(sleeper, []).waits
        found = seen(threading.get_ident(), lambda found: len(set(found.acting) - others) == 1)
        (acting,) = set(found.acting) - others
        assert "sleep" in acting
        stop.set()


def test_what_a_process_did_is_counted_and_told_with_operator_root_and_splits(group):
    dist.all_reduce(torch.ones(2))
    dist.all_reduce(torch.ones(2), op=dist.ReduceOp.MAX)
    dist.all_to_all_single(torch.ones(2), torch.ones(2), [2], [2])
    state = waits.state(flight.entries())
    assert state.me == 0 and state.groups == {"0": [0]} and state.made == {"0": 3}
    first, second = notes.new_calls()  # what is as usual isn't told
    assert (first.number, first.operator, first.splits) == (2, "MAX", [])
    assert (second.number, second.root, second.splits) == (3, 0, [[2], [2]])
    assert notes.new_calls() == []
    assert "def all_reduce" in inspect.getsource(dist.all_reduce)  # torch's own stays
