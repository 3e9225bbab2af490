"""Wrong answers to chapter 05's prefetcher, most of which are right until something goes wrong."""

import collections
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

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


def _started(batches, ready, stopped=None):
    """The thread of the right solution, already running."""

    def load():
        try:
            for batch in batches:
                ready.put(("batch", batch))
                if stopped and stopped.is_set():
                    return
            ready.put(("end", None))
        except BaseException as error:
            ready.put(("error", error))

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    return thread


def _taken(ready):
    while True:
        kind, value = ready.get()
        if kind == "end":
            return
        if kind == "error":
            raise value
        yield value


def _with_queue(ready, batches):
    stopped = threading.Event()
    _started(batches, ready, stopped)
    try:
        yield from _taken(ready)
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def without_a_bound(batches, depth):
    return _with_queue(queue.Queue(), batches)


def always_one(batches, depth):
    return _with_queue(queue.Queue(1), batches)


def one_too_many(batches, depth):
    return _with_queue(queue.Queue(depth + 1), batches)


def last_in_first_out(batches, depth):
    return _with_queue(queue.LifoQueue(depth), batches)


def never_closed(batches, depth):
    ready = queue.Queue(depth)
    _started(batches, ready)
    yield from _taken(ready)


def stops_without_making_room(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()
    _started(batches, ready, stopped)
    try:
        yield from _taken(ready)
    finally:
        stopped.set()


def joins_a_thread_that_waits(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()
    thread = _started(batches, ready, stopped)
    try:
        yield from _taken(ready)
    finally:
        stopped.set()
        thread.join()


def makes_room_for_one_more(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()
    _started(batches, ready, stopped)
    try:
        yield from _taken(ready)
    finally:
        stopped.set()
        ready.get_nowait()


def takes_all_the_rest(batches, depth):
    ready = queue.Queue(depth)
    _started(batches, ready)
    try:
        yield from _taken(ready)
    except GeneratorExit:
        for _ in _taken(ready):
            pass


def none_is_the_end(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()

    def load():
        for batch in batches:
            ready.put(batch)
            if stopped.is_set():
                return
        ready.put(None)

    threading.Thread(target=load, daemon=True).start()
    try:
        while (batch := ready.get()) is not None:
            yield batch
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def _of_plain_batches(batches, depth, ends, raises, end=END):
    """A queue of batches and errors as they are; `ends` and `raises` tell them apart."""
    ready, stopped = queue.Queue(depth), threading.Event()

    def load():
        last = end
        try:
            for batch in batches:
                ready.put(batch)
                if stopped.is_set():
                    return
        except Exception as error:
            last = error
        ready.put(last)

    threading.Thread(target=load, daemon=True).start()
    try:
        while not ends(batch := ready.get()):
            if raises(batch):
                raise batch
            yield batch
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def an_exception_is_an_error(batches, depth):
    return _of_plain_batches(
        batches, depth, lambda one: one is END, lambda one: isinstance(one, Exception)
    )


def the_end_by_its_value(batches, depth):
    end = ("end", None)
    return _of_plain_batches(batches, depth, lambda one: one == end, lambda one: False, end)


def asks_whether_it_is_true(batches, depth):
    return _of_plain_batches(batches, depth, lambda one: not one, lambda one: False, None)


def an_error_is_the_end(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()

    def load():
        try:
            for batch in batches:
                ready.put(batch)
                if stopped.is_set():
                    return
        except Exception:
            pass
        ready.put(END)

    threading.Thread(target=load, daemon=True).start()
    try:
        while (batch := ready.get()) is not END:
            yield batch
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def an_error_leaves_nothing(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()

    def load():
        for batch in batches:
            ready.put(batch)
            if stopped.is_set():
                return
        ready.put(END)

    threading.Thread(target=load, daemon=True).start()
    try:
        while (batch := ready.get()) is not END:
            yield batch
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def an_error_is_passed_over(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()

    def load():
        loader = iter(batches)
        while not stopped.is_set():
            try:
                ready.put(("batch", next(loader)))
            except StopIteration:
                return ready.put(("end", None))
            except Exception:
                continue

    threading.Thread(target=load, daemon=True).start()
    try:
        yield from _taken(ready)
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def raises_at_once(batches, depth):
    ready, stopped, errors = queue.Queue(depth), threading.Event(), []

    def load():
        try:
            for batch in batches:
                ready.put(("batch", batch))
                if stopped.is_set():
                    return
        except Exception as error:
            errors.append(error)
        ready.put(("end", None))

    threading.Thread(target=load, daemon=True).start()
    try:
        for batch in _taken(ready):
            if errors:
                raise errors[0]
            yield batch
        if errors:
            raise errors[0]
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def raises_another_error(batches, depth):
    inner = _with_queue(queue.Queue(depth), batches)
    try:
        yield from inner
    except Exception as error:
        raise RuntimeError("the loader failed") from error


def ends_when_the_thread_has(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()
    thread = _started(batches, ready, stopped)
    try:
        while thread.is_alive():
            kind, value = ready.get()
            if kind == "error":
                raise value
            if kind == "batch":
                yield value
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def waits_after_the_last(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()

    def load():
        for batch in batches:
            ready.put(batch)
            if stopped.is_set():
                return

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    try:
        while thread.is_alive() or not ready.empty():
            yield ready.get()
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def empty_is_the_end(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()
    _started(batches, ready, stopped)
    try:
        while True:
            kind, value = ready.get(timeout=0.01)
            if kind == "batch":
                yield value
    except queue.Empty:
        return
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def spins_for_ever(batches, depth):
    ready = collections.deque()
    room = threading.Semaphore(depth)

    def load():
        for batch in batches:
            room.acquire()
            ready.append(batch)

    threading.Thread(target=load, daemon=True).start()
    while True:
        if ready:
            batch = ready.popleft()
            room.release()
            yield batch


def waits_until_it_is_full(batches, depth):
    ready, stopped = queue.Queue(depth), threading.Event()
    thread = _started(batches, ready, stopped)
    while thread.is_alive() and not ready.full():
        time.sleep(0.001)
    try:
        yield from _taken(ready)
    finally:
        stopped.set()
        while not ready.empty():
            ready.get()


def loads_when_it_is_asked(batches, depth):
    loader = iter(batches)
    with ThreadPoolExecutor(1) as pool:
        while (batch := pool.submit(next, loader, END).result()) is not END:
            yield batch


def a_slip_in_the_thread(batches, depth):
    ready = queue.Queue(depth)

    def load():
        for batch in batches:
            ready.putt(batch)

    threading.Thread(target=load, daemon=True).start()
    while True:
        yield ready.get()


WRONG = [
    no_thread,
    all_at_first,
    returns_a_list,
    ahead_without_a_thread,
    without_a_bound,
    always_one,
    one_too_many,
    last_in_first_out,
    never_closed,
    stops_without_making_room,
    joins_a_thread_that_waits,
    makes_room_for_one_more,
    takes_all_the_rest,
    none_is_the_end,
    an_exception_is_an_error,
    the_end_by_its_value,
    asks_whether_it_is_true,
    an_error_is_the_end,
    an_error_leaves_nothing,
    an_error_is_passed_over,
    raises_at_once,
    raises_another_error,
    ends_when_the_thread_has,
    waits_after_the_last,
    empty_is_the_end,
    spins_for_ever,
    waits_until_it_is_full,
    loads_when_it_is_asked,
    a_slip_in_the_thread,
]
