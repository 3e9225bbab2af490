"""Wrong answers to chapter 05's exercises, each as a student might write it."""

import collections
import math
import random
import time

import numpy as np
import torch

from tests.chapters.input_pipeline import wrong_prefetchers


def as_many_as_cores(n_batches, load, step, start, cores):
    return cores


def load_by_step(n_batches, load, step, start, cores):
    return min(cores, math.ceil(load / step)) if step else cores


def starts_are_free(n_batches, load, step, start, cores):
    def seconds(w):
        if w == 0:
            return n_batches * (load + step)
        return load + (n_batches - 1) * max(load / w, step) + step

    return min(range(cores + 1), key=seconds)


def all_start_at_once(n_batches, load, step, start, cores):
    def seconds(w):
        if w == 0:
            return n_batches * (load + step)
        return start + load + (n_batches - 1) * max(load / w, step) + step

    return min(range(cores + 1), key=seconds)


def never_none(n_batches, load, step, start, cores):
    def seconds(w):
        return w * start + load + (n_batches - 1) * max(load / w, step) + step

    return min(range(1, cores + 1), key=seconds, default=0)


def the_most_at_a_tie(n_batches, load, step, start, cores):
    def seconds(w):
        if w == 0:
            return n_batches * (load + step)
        return w * start + load + (n_batches - 1) * max(load / w, step) + step

    return min(range(cores, -1, -1), key=seconds)


def overlaps_without_workers(n_batches, load, step, start, cores):
    def seconds(w):
        return w * start + load + (n_batches - 1) * max(load / max(w, 1), step) + step

    return min(range(cores + 1), key=seconds)


def the_last_core_is_left(n_batches, load, step, start, cores):
    def seconds(w):
        if w == 0:
            return n_batches * (load + step)
        return w * start + load + (n_batches - 1) * max(load / w, step) + step

    return min(range(max(cores, 1)), key=seconds)


def in_steady_state(n_batches, load, step, start, cores):
    def seconds(w):
        if w == 0:
            return n_batches * (load + step)
        return w * start + n_batches * max(load / w, step)

    return min(range(cores + 1), key=seconds)


def the_seconds(n_batches, load, step, start, cores):
    def seconds(w):
        if w == 0:
            return n_batches * (load + step)
        return w * start + load + (n_batches - 1) * max(load / w, step) + step

    return min(map(seconds, range(cores + 1)))


def does_nothing(worker_id):
    return worker_id


def by_its_number(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(worker_id)


def one_seed_for_all(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed - worker_id)


def by_the_clock(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(time.time_ns() + worker_id)


def by_the_system(worker_id):
    torch.utils.data.get_worker_info().dataset.rng = np.random.default_rng()


def seeds_numpys_own(worker_id):
    np.random.seed(torch.utils.data.get_worker_info().seed % 2**32)


def seeds_torch_and_python(worker_id):
    seed = torch.utils.data.get_worker_info().seed
    random.seed(seed)
    torch.manual_seed(seed)


def keeps_it_to_itself(worker_id):
    rng = np.random.default_rng(torch.utils.data.get_worker_info().seed)
    return rng


def only_the_first(worker_id):
    info = torch.utils.data.get_worker_info()
    if worker_id == 0:
        info.dataset.rng = np.random.default_rng(info.seed)


def seeds_that_overlap(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng((info.seed - worker_id) // 2**40 + worker_id // 2)


def a_slip(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rgn(info.seed)


def begins_anew(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator().manual_seed(seed + epoch)
    return torch.randperm(n, generator=generator)[rank::world_size].tolist()


def skips_seen_on_each_rank(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator().manual_seed(seed + epoch)
    return torch.randperm(n, generator=generator)[rank::world_size][seen:].tolist()


def skips_its_share(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator().manual_seed(seed + epoch)
    order = torch.randperm(n, generator=generator)
    return order[rank::world_size][seen // world_size :].tolist()


def forgets_the_epoch(n, seed, epoch, seen, rank, world_size):
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return order[seen + rank :: world_size].tolist()


def forgets_the_seed(n, seed, epoch, seen, rank, world_size):
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch))
    return order[seen + rank :: world_size].tolist()


def shuffles_what_is_left(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator().manual_seed(seed + epoch)
    left = seen + torch.randperm(n - seen, generator=generator)
    return left[rank::world_size].tolist()


def seeds_torch(n, seed, epoch, seen, rank, world_size):
    torch.manual_seed(seed + epoch)
    return torch.randperm(n)[seen + rank :: world_size].tolist()


def in_blocks(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator().manual_seed(seed + epoch)
    left = torch.randperm(n, generator=generator)[seen:].tolist()
    each = math.ceil(len(left) / world_size)
    return left[rank * each : (rank + 1) * each]


def drops_the_odd_ones(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator().manual_seed(seed + epoch)
    left = torch.randperm(n, generator=generator)[seen:].tolist()
    return left[: len(left) // world_size * world_size][rank::world_size]


def fills_up(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator().manual_seed(seed + epoch)
    left = collections.deque(torch.randperm(n, generator=generator)[seen:].tolist())
    while left and len(left) % world_size:
        left.append(left[0])
    return list(left)[rank::world_size]


def in_order(n, seed, epoch, seen, rank, world_size):
    return list(range(seen + rank, n, world_size))


def the_same_but_sorted(n, seed, epoch, seen, rank, world_size):
    generator = torch.Generator().manual_seed(seed + epoch)
    return sorted(torch.randperm(n, generator=generator)[seen + rank :: world_size].tolist())


WRONG = {
    "input.prefetched": wrong_prefetchers.WRONG,
    "input.workers": [
        as_many_as_cores,
        load_by_step,
        starts_are_free,
        all_start_at_once,
        never_none,
        the_most_at_a_tie,
        overlaps_without_workers,
        the_last_core_is_left,
        in_steady_state,
        the_seconds,
    ],
    "input.seeds": [
        does_nothing,
        by_its_number,
        one_seed_for_all,
        by_the_clock,
        by_the_system,
        seeds_numpys_own,
        seeds_torch_and_python,
        keeps_it_to_itself,
        only_the_first,
        seeds_that_overlap,
        a_slip,
    ],
    "input.resume": [
        begins_anew,
        skips_seen_on_each_rank,
        skips_its_share,
        forgets_the_epoch,
        forgets_the_seed,
        shuffles_what_is_left,
        seeds_torch,
        in_blocks,
        drops_the_odd_ones,
        fills_up,
        in_order,
        the_same_but_sorted,
    ],
}
