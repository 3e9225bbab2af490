"""Right answers to chapter 05's exercises, in other ways than the worked solutions."""

import collections
import itertools
import queue
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import numpy as np
import torch
from torch.utils.data import get_worker_info

END = object()


def by_a_condition(batches, depth):
    ready, state = collections.deque(), threading.Condition()
    stopped = False

    def hand(one):
        with state:
            state.wait_for(lambda: len(ready) < depth or stopped)
            ready.append(one)
            state.notify_all()
            return stopped

    def load():
        try:
            for batch in batches:
                if hand((batch, None)):
                    return
            hand((END, None))
        except Exception as error:
            hand((END, error))

    thread = threading.Thread(target=load)
    thread.start()
    try:
        while True:
            with state:
                state.wait_for(lambda: ready)
                batch, error = ready.popleft()
                state.notify_all()
            if error:
                raise error
            if batch is END:
                return
            yield batch
    finally:
        with state:
            stopped = True
            state.notify_all()
        thread.join()


def by_a_pool(batches, depth):
    loader = iter(batches)
    with ThreadPoolExecutor(1) as pool:
        waiting = collections.deque()
        try:
            waiting.extend(pool.submit(next, loader, END) for _ in range(depth))
            while True:
                waiting.append(pool.submit(next, loader, END))
                batch = waiting.popleft().result()
                if batch is END:
                    return
                yield batch
        finally:
            pool.shutdown(cancel_futures=True)


def that_looks_up_now_and_then(batches, depth):
    ready, stopped, failed = queue.Queue(depth), threading.Event(), []

    def put(one):
        while not stopped.is_set():
            with suppress(queue.Full):
                return ready.put(one, timeout=0.05)

    def load():
        try:
            for batch in batches:
                put([batch])
                if stopped.is_set():
                    break
        except Exception as error:
            failed.append(error)
        put([])

    threading.Thread(target=load).start()
    try:
        while one := ready.get():
            yield one[0]
        for error in failed:
            raise error
    finally:
        stopped.set()


def by_semaphores(batches, depth):
    room, filled = threading.Semaphore(depth), threading.Semaphore(0)
    ready, stopped = collections.deque(), threading.Event()

    def load():
        loader = iter(batches)
        while True:
            room.acquire()
            if stopped.is_set():
                return
            try:
                ready.append((True, next(loader)))
            except BaseException as error:
                ready.append((False, error))
                return
            finally:
                filled.release()

    threading.Thread(target=load, daemon=True).start()
    try:
        while filled.acquire():
            more, value = ready.popleft()
            room.release()
            if more:
                yield value
            elif isinstance(value, StopIteration):
                return
            else:
                raise value
    finally:
        stopped.set()
        room.release()


class Ahead:
    def __init__(self, batches, depth):
        self.inner = by_semaphores(batches, depth)

    def __iter__(self):
        with closing(self.inner):
            yield from self.inner


def of_a_class(batches, depth):
    return iter(Ahead(batches, depth))


def by_where_the_lines_cross(n_batches, load, step, start, cores):
    best, least = 0, n_batches * (load + step)
    for w in range(1, cores + 1):
        waits = max(load / w - step, 0)
        seconds = w * start + load + n_batches * step + (n_batches - 1) * waits
        if seconds < least * (1 - 1e-12):
            best, least = w, seconds
    return best


def by_an_array(n_batches, load, step, start, cores):
    w = np.arange(cores + 1)
    seconds = start * w + load + step + (n_batches - 1) * np.maximum(load / np.maximum(w, 1), step)
    seconds[0] = n_batches * (load + step)
    return seconds.argmin()


def by_torchs_seed(worker_id):
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())


def by_a_spawned_sequence(worker_id):
    info = get_worker_info()
    sequence = np.random.SeedSequence(info.seed - worker_id).spawn(info.num_workers)[worker_id]
    info.dataset.rng = np.random.Generator(np.random.PCG64(sequence))


def by_its_state(worker_id):
    info = get_worker_info()
    info.dataset.rng.bit_generator.state = np.random.PCG64(info.seed).state


def a_generator_of_pythons(worker_id):
    get_worker_info().dataset.rng = random.Random(get_worker_info().seed)


class Init:
    def __call__(self, worker_id):
        by_torchs_seed(worker_id)


def by_a_strided_tensor(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator()
    generator.manual_seed(seed + epoch)
    return torch.randperm(n, generator=generator)[seen:][rank::world_size]


def card_by_card(n, seed, epoch, seen, rank, world_size):
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    for place, sample in enumerate(itertools.islice(order, seen, None)):
        if place % world_size == rank:
            yield sample


RIGHT = {
    "input.prefetched": [
        by_a_condition,
        by_a_pool,
        that_looks_up_now_and_then,
        by_semaphores,
        of_a_class,
    ],
    "input.workers": [by_where_the_lines_cross, by_an_array],
    "input.seeds": [
        by_torchs_seed,
        by_a_spawned_sequence,
        by_its_state,
        a_generator_of_pythons,
        Init(),
    ],
    "input.resume": [by_a_strided_tensor, card_by_card],
}
