"""A GPU of any compute capability, as far as the library asks."""

import pytest
import torch


@pytest.fixture
def a_gpu_of(monkeypatch):
    """Lets the library believe in a GPU of a compute capability; nothing runs on it."""

    def pretend(capability):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
        return torch.device("cuda", 0)

    return pretend
