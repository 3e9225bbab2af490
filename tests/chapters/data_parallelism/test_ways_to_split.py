"""Ways to split a model: the bytes of each are those of its own tensors."""

import pytest
import torch

from course_utils.chapters.data_parallelism.ways_to_split import draw_splits, tensors_to_send
from course_utils.workloads.gpt import GPTConfig
from tests.support.page_cells import cells_of


@pytest.mark.parametrize("n, batch", [(2, 1), (4, 8), (8, 3)])
def test_the_bytes_of_each_way_are_those_of_the_models_own_tensors(n, batch):
    config = GPTConfig.small()
    with torch.device("meta"):
        found = tensors_to_send(config, batch, n)
    names = {"GPTConfig": GPTConfig}
    exec(cells_of("12")["split-bytes"], names)
    assert names["bytes_sent"](batch, n, config, 124_439_808) == found


def test_the_drawing_of_the_splits_is_a_picture():
    assert draw_splits("title", {"data": 1e6, "layers": 2e6, "channels": 3e6}).png
