"""Bytes counted by kind, beside arithmetic and torch's own tracker."""

import pytest
import torch
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils._python_dispatch import _get_current_dispatch_mode

from course_utils.memory import counting
from course_utils.workloads.gpt import GPT, GPTConfig

N = 2 * (64 * 64 + 64)  # numbers in the weights of the multilayer perceptron


def mlp():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    return model, torch.optim.Adam(model.parameters())


def step(model, optimizer, x):
    optimizer.zero_grad()
    model(x).square().sum().backward()
    optimizer.step()


def test_each_kind_of_a_multilayer_perceptron_is_as_calculated():
    model, optimizer = mlp()
    x = torch.randn(100, 64)
    with counting.count(model, optimizer, x) as counted:
        step(model, optimizer, x)
    assert counted.kept("parameter") == counted.kept("gradient") == 4 * N
    assert counted.kept("optimizer state") == 8 * N + 4 * 4
    assert counted.kept("input") == 4 * 100 * 64
    # the ReLU's output, once for the ReLU and the second Linear; the output, for square; the loss
    # and the gradient it starts from
    assert counted.before("backward").n_bytes["activation"] == 2 * 4 * 100 * 64 + 2 * 4

    with counting.count() as counted:  # a model built inside the block is watched from then on
        model, optimizer = mlp()
        counted.watch(model, optimizer)
        step(model, optimizer, torch.randn(100, 64))
    assert counted.kept("parameter") == counted.kept("gradient") == 4 * N
    built = [s for s in counted.storages if s.phase == "before"]
    assert sum(s.n_bytes for s in built if s.kind == "parameter") == 4 * N


def test_torchs_own_tracker_finds_the_same_peak():
    model = GPT(GPTConfig(13, 16, 2, 2, 32))
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    tokens = torch.randint(13, (4, 16))
    step(model, optimizer, tokens)
    tracker = MemTracker()
    tracker.track_external(model, optimizer, tokens)
    with tracker:
        step(model, optimizer, tokens)
    theirs = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"]
    with counting.count(model, optimizer, tokens) as counted:
        step(model, optimizer, tokens)
    assert counted.peak.total == theirs


def test_nothing_is_left_hooked_on_model_or_optimizer_or_dispatch_after_an_error_either():
    model, optimizer = mlp()
    x = torch.randn(4, 64)
    with pytest.raises(ZeroDivisionError), counting.count(model, optimizer, x) as counted:
        step(model, optimizer, x)
        _ = 1 / 0
    assert _get_current_dispatch_mode() is None
    n = len(counted.storages)
    step(model, optimizer, x)
    assert len(counted.storages) == n
    assert not optimizer._optimizer_step_pre_hooks and not optimizer._optimizer_step_post_hooks
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())


def test_bad_input_says_what_is_wanted():
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
        counting.count([1])
    with pytest.raises(TypeError, match="optimizer"):
        counting.count(nn.Linear(1, 1), nn.Linear(1, 1))
    with counting.count() as counted, pytest.raises(RuntimeError, match="dedent"):
        _ = counted.peak
    with pytest.raises(ValueError, match="no kind 'weights'"):
        counted.kept("weights")
    with pytest.raises(ValueError, match="nothing was made in phase 'step'"):
        counted.before("step")
