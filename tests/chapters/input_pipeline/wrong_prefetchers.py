"""Wrong answers to chapter 05's prefetcher, most of which are right until something goes wrong."""

import collections
from concurrent.futures import ThreadPoolExecutor

from tests.support.patches import by_name, changed

END = object()


def no_thread(batches, depth):
    yield from batches


def all_at_first(batches, depth):
    yield from list(batches)


def returns_a_list(batches, depth):
    return list(batches)


def ahead_without_a_thread(batches, depth):
    ready, loader = collections.deque(), iter(batches)
    while True:
        while len(ready) < depth:
            batch = next(loader, END)
            if batch is END:
                yield from ready
                return
            ready.append(batch)
        yield ready.popleft()


def loads_when_it_is_asked(batches, depth):
    loader = iter(batches)
    with ThreadPoolExecutor(1) as pool:
        while (batch := pool.submit(next, loader, END).result()) is not END:
            yield batch


def takes(ends, raises="False"):
    """Batches and errors are put as they are; `ends` and `raises` tell them from one another."""
    end = f"            if {ends}:\n                return\n"
    error = f"            if {raises}:\n                raise value"
    plain = {'("batch", batch)': "batch", '("error", error)': "error"}
    return plain | {TAKE: f"value = ready.get()\n{end}{error}"}


TAKE = """kind, value = ready.get()
            if kind == "end":
                return
            if kind == "error":
                raise value"""
QUEUE, GET = "queue.Queue(depth)", "kind, value = ready.get()"
PUT_END, PUT_ERROR = 'ready.put(("end", None))', 'ready.put(("error", error))'
EMPTY = "\n        while not ready.empty():\n            ready.get()"
START = "threading.Thread(target=load, daemon=True).start()"
KEPT = {START: "thread = threading.Thread(target=load, daemon=True)\n    thread.start()"}
WRONG = [
    no_thread,
    all_at_first,
    returns_a_list,
    ahead_without_a_thread,
    loads_when_it_is_asked,
    *changed(
        "input.prefetched",
        without_a_bound={QUEUE: "queue.Queue()"},
        always_one={QUEUE: "queue.Queue(1)"},
        one_too_many={QUEUE: "queue.Queue(depth + 1)"},
        last_in_first_out={QUEUE: "queue.LifoQueue(depth)"},
        never_closed={f"stopped.set(){EMPTY}": "pass"},
        stops_without_making_room={EMPTY: ""},
        joins_a_thread_that_waits=KEPT | {EMPTY: "\n        thread.join()"},
        makes_room_for_one_more={EMPTY: "\n        ready.get_nowait()"},
        takes_all_the_rest={
            "finally:": "except GeneratorExit:",
            f"stopped.set(){EMPTY}": 'while ready.get()[0] == "batch":\n            pass',
        },
        none_is_the_end=takes("value is None") | {'("end", None)': "None"},
        an_exception_is_an_error=takes("value is stopped", "isinstance(value, Exception)")
        | {'("end", None)': "stopped"},
        the_end_by_its_value=takes('value == ("end", None)'),
        asks_whether_it_is_true=takes("not value") | {'("end", None)': "None"},
        an_error_is_the_end={PUT_ERROR: PUT_END},
        an_error_leaves_nothing={PUT_ERROR: "raise"},
        raises_at_once={
            f"ready = {QUEUE}": f"ready, failed = {QUEUE}, []",
            PUT_ERROR: f"failed.append(error)\n            {PUT_END}",
            GET: f"{GET}\n            if failed:\n                raise failed[0]",
        },
        raises_another_error={"raise value": 'raise RuntimeError("no batch") from value'},
        ends_when_the_thread_has=KEPT | {"while True:": "while thread.is_alive():"},
        waits_after_the_last=KEPT
        | {PUT_END: "pass", "while True:": "while thread.is_alive() or not ready.empty():"},
        empty_is_the_end={
            GET: "try:\n                kind, value = ready.get(timeout=0.01)\n"
            "            except queue.Empty:\n                return"
        },
        spins_for_ever={
            PUT_END: "pass",
            GET: f"while ready.empty():\n                pass\n            {GET}",
        },
        waits_until_it_is_full=KEPT
        | {
            "    try:\n        while True": "    while thread.is_alive() and not ready.full():\n"
            "        stopped.wait(0.001)\n    try:\n        while True"
        },
        a_slip_in_the_thread={'ready.put(("batch"': 'ready.putt(("batch"', PUT_ERROR: "raise"},
    ),
]
__getattr__ = by_name({"input.prefetched": WRONG})
