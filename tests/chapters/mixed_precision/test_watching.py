"""Reads from the device are counted, and the gradients of layers are those autograd gives."""

import pytest
import torch
from torch import nn

from course_utils.chapters.mixed_precision import activation_gradients, reads, waits


def test_each_item_is_a_read_and_gives_its_number():
    numbers = torch.tensor([1.5, 2.5])
    with reads() as seen:
        assert numbers[1].item() == 2.5
        numbers.sum()
    assert len(seen) == 1
    numbers[0].item()
    assert len(seen) == 1


@pytest.fixture
def sync_debug(monkeypatch):
    """The debug modes that were set, without CUDA."""
    modes = []
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    return modes


def _fail(words):
    raise RuntimeError(words)


def test_a_wait_is_seen_and_the_mode_is_as_before(sync_debug):
    assert waits(lambda: _fail("called a synchronizing CUDA operation"))
    assert not waits(lambda: None)
    assert sync_debug == ["error", 0] * 2


def test_another_error_is_no_wait(sync_debug):
    with pytest.raises(RuntimeError, match="out of luck"):
        waits(lambda: _fail("out of luck"))
    assert sync_debug == ["error", 0]


def test_the_gradients_are_those_of_the_layers_outputs():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    x = torch.randn(5, 3, requires_grad=True)
    hidden = model[0](x)
    out = model[2](model[1](hidden))
    wanted = torch.autograd.grad(out.square().sum(), [hidden, out])
    found = activation_gradients(model, lambda: model(x).square().sum())
    together = torch.cat([g.flatten() for g in wanted])
    torch.testing.assert_close(found.sort().values, together.sort().values)
    assert not any(layer._backward_hooks for layer in model)
