"""Bytes counted by kind, beside arithmetic, torch's own tracker, and a walk over live tensors."""

import gc
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_utils.memory import counting
from course_utils.workloads.gpt import GPT, GPTConfig


def mlp(width=64):
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
    return model, torch.optim.Adam(model.parameters())


def step(model, optimizer, x):
    optimizer.zero_grad()
    model(x).square().sum().backward()
    optimizer.step()


def test_each_kind_of_a_multilayer_perceptron_is_as_calculated():
    model, optimizer = mlp()
    x = torch.randn(100, 64)
    n = 2 * (64 * 64 + 64)
    with counting.count(model, optimizer, x) as counted:
        step(model, optimizer, x)
    assert counted.kept("parameter") == counted.kept("gradient") == 4 * n
    assert counted.kept("optimizer state") == 8 * n + 4 * 4
    assert counted.kept("input") == 4 * 100 * 64
    # the ReLU's output, once for the ReLU and the second Linear; the output, for square; the loss
    # and the gradient it starts from
    assert counted.before("backward").n_bytes["activation"] == 2 * 4 * 100 * 64 + 2 * 4


def test_the_last_total_is_what_a_walk_over_all_live_tensors_finds():
    model, optimizer = mlp()
    x = torch.randn(10, 64)
    with counting.count(model, optimizer, x) as counted:
        step(model, optimizer, x)
        kept = model(x)
    gc.collect()
    alive = {
        t.untyped_storage()._cdata: t.untyped_storage().nbytes()
        for t in (
            [x, kept, *model.parameters(), *(p.grad for p in model.parameters())]
            + [s for state in optimizer.state.values() for s in state.values()]
        )
    }
    # autograd keeps the ReLU's output for the graph of `kept`
    assert counted.moments[-1].total == sum(alive.values()) + 4 * 10 * 64


def test_torchs_own_tracker_finds_the_same_peak():
    from torch.distributed._tools.mem_tracker import MemTracker

    config = GPTConfig(13, 16, 2, 2, 32)
    model = GPT(config)
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    tokens = torch.randint(13, (4, 16))

    def one_step():
        optimizer.zero_grad()
        model(tokens).square().sum().backward()
        optimizer.step()

    one_step()
    tracker = MemTracker()
    tracker.track_external(model, optimizer, tokens)
    with tracker:
        one_step()
    theirs = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"]
    with counting.count(model, optimizer, tokens) as counted:
        one_step()
    assert counted.peak.total == theirs


def test_checkpointing_keeps_less_and_what_it_recomputes_is_counted():
    def run(use):
        layers = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(8))
        x = torch.randn(200, 64, requires_grad=True)
        with counting.count(layers, inputs=x) as counted:
            out = x
            for layer in layers:
                out = checkpoint(layer, out, use_reentrant=False) if use else layer(out)
            out.sum().backward()
        return counted

    plain, checkpointed = run(False), run(True)
    one = 4 * 200 * 64
    before = [c.before("backward").n_bytes["activation"] for c in (plain, checkpointed)]
    assert before[0] - before[1] >= 6 * one  # the last layer is recomputed by then
    recomputed = [s for s in checkpointed.storages if s.kind == "activation" and "addmm" in s.op]
    assert [s.n_bytes for s in recomputed] == [one] * 8
    assert all(a.died < b.born for a, b in pairwise(recomputed))  # one layer at a time
    assert plain.moments[-1].n_bytes["activation"] == one  # `out` itself


def test_a_kept_loss_keeps_its_graph_alive():
    model, optimizer = mlp()
    x = torch.randn(100, 64)
    for keep, least in ((lambda loss: loss, 4 * 4 * 100 * 64), (torch.Tensor.item, 0)):
        losses = []
        with counting.count(model, optimizer, x) as counted:
            for _ in range(4):
                losses.append(keep(model(x).square().sum()))
        assert counted.moments[-1].total - counted.moments[0].total >= least
        assert least or counted.moments[-1].total == counted.moments[0].total


def test_fake_tensors_are_counted_without_memory():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        model = nn.Linear(100_000, 100_000)
        x = torch.randn(8, 100_000)
        with counting.count(model, inputs=x) as counted:
            model(x).sum().backward()
    assert counted.kept("parameter") == 4 * (10**10 + 10**5)
    assert counted.peak.total > 2 * 4 * 10**10


def test_half_copies_are_made_once_for_a_weight_used_twice():
    model = nn.Linear(64, 64, bias=False)
    x = torch.randn(8, 64)
    with counting.count(model, inputs=x) as counted, torch.amp.autocast("cpu", torch.bfloat16):
        (model(x) + model(x)).sum()
    assert counted.kept("half copy") == 2 * 64 * 64


def test_nothing_is_left_hooked_on_model_or_optimizer():
    model, optimizer = mlp()
    x = torch.randn(4, 64)
    with counting.count(model, optimizer, x) as counted:
        step(model, optimizer, x)
    n = len(counted.storages)
    step(model, optimizer, x)
    assert len(counted.storages) == n
    assert not optimizer._optimizer_step_pre_hooks and not optimizer._optimizer_step_post_hooks
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())


def test_an_error_in_the_block_goes_on_and_leaves_no_mode_behind():
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    with pytest.raises(ZeroDivisionError), counting.count():
        torch.ones(3)
        _ = 1 / 0
    assert _get_current_dispatch_mode() is None


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


def test_a_model_built_inside_the_block_is_watched_from_then_on():
    with counting.count() as counted:
        model, optimizer = mlp()
        x = torch.randn(100, 64)
        counted.watch(model, optimizer)
        step(model, optimizer, x)
    n = 2 * (64 * 64 + 64)
    assert counted.kept("parameter") == counted.kept("gradient") == 4 * n
    assert counted.moments[-1].n_bytes["input"] == 4 * 100 * 64
    built = [s for s in counted.storages if s.phase == "before"]
    assert sum(s.n_bytes for s in built if s.kind == "parameter") == 4 * n
    with pytest.raises(TypeError, match="optimizer"):
        counted.watch(model, model)
