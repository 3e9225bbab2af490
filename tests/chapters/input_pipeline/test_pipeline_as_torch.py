"""The pipeline in virtual time and torch's DataLoader: the same batches begun, the same workers."""

import time
from multiprocessing.context import ForkContext, ForkProcess

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from course_utils.chapters.input_pipeline.pipeline import simulate

pytestmark = [pytest.mark.timed, pytest.mark.filterwarnings("ignore:.*fork")]
PATIENCE = 60  # seconds
NEVER = 1e9  # a step so long that all that was dealt is loaded meanwhile


class Sleeping(Dataset):
    """Batch i takes `loads[i]` seconds; it is its number, its worker and when it was begun."""

    def __init__(self, loads):
        self.loads = loads
        self.begun = torch.zeros(len(loads), dtype=torch.int64).share_memory_()

    def __len__(self):
        return len(self.loads)

    def __getitem__(self, i):
        now = time.perf_counter()
        self.begun[i] = 1
        time.sleep(self.loads[i])
        return i, get_worker_info().id, now


def loader(dataset, workers, depth, context="fork"):
    return DataLoader(
        dataset,
        batch_size=None,
        num_workers=workers,
        prefetch_factor=depth,
        multiprocessing_context=context,
    )


@pytest.mark.parametrize("workers, depth", [(1, 1), (1, 3), (2, 2)])
def test_while_a_batch_is_used_the_real_loader_has_begun_as_many_as_the_model(workers, depth):
    dataset = Sleeping([0] * 12)
    batches = simulate(dataset.loads, NEVER, workers, depth, 0).batches
    for k, (i, worker, _) in enumerate(loader(dataset, workers, depth)):
        assert (i, worker) == (k, batches[k].worker)
        want = [int(other.begun < batches[k].done) for other in batches]
        until = time.perf_counter() + PATIENCE
        while sum(dataset.begun.tolist()) < sum(want) and time.perf_counter() < until:
            time.sleep(0.002)
        time.sleep(0.01)  # in which one too many would be begun
        assert dataset.begun.tolist() == want


class SlowStart(ForkContext):
    """Starting a process takes 0.1 s more, and `started` is when the last one was."""

    started = 0.0

    class Process(ForkProcess):
        def start(self):
            super().start()
            time.sleep(0.1)
            SlowStart.started = time.perf_counter()


def test_the_real_loader_too_deals_nothing_before_its_last_worker_is_started():
    found = list(loader(Sleeping([0] * 6), 2, 1, SlowStart()))
    assert min(begun for _, _, begun in found) > SlowStart.started > 0


def test_an_uneven_epoch_of_the_real_loader_takes_about_what_the_model_says():
    loads, step = [0.06, 0.02, 0.02, 0.02] * 4, 0.02
    said = simulate(loads, step, 2, 2, 0).seconds
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        for _batch in loader(Sleeping(loads), 2, 2):
            time.sleep(step)
        took.append(time.perf_counter() - begun)
        if took[-1] < 1.2 * said:
            break
    assert 0.99 * said < min(took) < 1.5 * said
