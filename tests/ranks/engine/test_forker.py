"""Forked ranks have what is slow to import already."""

import sys
from pathlib import Path

import pytest
import torch

from course_utils import ranks
from course_utils.ranks.engine.forker import GPU_DEVICES

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as Linux does"),
    pytest.mark.usefixtures("ended"),
]


@pytest.mark.skipif(any(Path(d).exists() for d in GPU_DEVICES), reason="a GPU is here")
def test_a_forked_rank_has_what_optimizers_import_already():
    def added():
        import sys

        before = set(sys.modules)
        torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        return len(set(sys.modules) - before)

    ranks.start(1, device="cpu")
    assert ranks.run(added)[0] < 10
