"""The pipeline in virtual time and torch's DataLoader: the same batches begun, the same workers."""

import time

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from course_utils.chapters.input_pipeline.pipeline import simulate

BATCHES, PATIENCE = 12, 60  # seconds until a batch should have been begun
NEVER = 1e9  # a step so long that all that was dealt is loaded meanwhile


class Noted(Dataset):
    """Sample i is its number and its worker, and is noted when it is begun."""

    def __init__(self):
        self.begun = torch.zeros(BATCHES, dtype=torch.int64).share_memory_()

    def __len__(self):
        return BATCHES

    def __getitem__(self, i):
        self.begun[i] = 1
        return i, get_worker_info().id


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("workers, depth", [(1, 1), (1, 3), (2, 2)])
def test_the_real_loader_deals_to_the_same_workers_and_as_far_ahead_as_the_model(workers, depth):
    dataset = Noted()
    how = {"num_workers": workers, "prefetch_factor": depth, "multiprocessing_context": "fork"}
    batches = simulate([0] * BATCHES, NEVER, workers, depth, 0).batches
    for k, (i, worker) in enumerate(DataLoader(dataset, batch_size=None, **how)):
        assert (i, worker) == (k, batches[k].worker)
        want = [int(other.begun < batches[k].done) for other in batches]
        until = time.perf_counter() + PATIENCE
        while sum(dataset.begun.tolist()) < sum(want) and time.perf_counter() < until:
            time.sleep(0.002)
        time.sleep(0.01)  # in which one too many would be begun
        assert dataset.begun.tolist() == want
