"""Right answers to chapter 05's exercises, in other ways than the worked solutions."""

import heapq
import itertools
import random

import numpy as np
import torch
from torch.utils.data import get_worker_info


def from_a_heap(lengths, budget):
    left = [(-length, i) for i, length in enumerate(lengths)]
    heapq.heapify(left)
    found = []
    while left:
        size = budget // -left[0][0]
        found.append({heapq.heappop(left)[1] for _ in range(min(size, len(left)))})
    return found


def by_a_generator(lengths, budget):
    order = np.argsort(lengths, kind="stable")[::-1]
    while len(order):
        size = budget // lengths[order[0]]
        yield order[:size]
        order = order[size:]


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
    "input.batches": [from_a_heap, by_a_generator],
    "input.seeds": [
        by_torchs_seed,
        by_a_spawned_sequence,
        by_its_state,
        a_generator_of_pythons,
        Init(),
    ],
    "input.resume": [by_a_strided_tensor, card_by_card],
}
