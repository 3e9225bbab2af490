"""The queue that plays a GPU: it computes what PyTorch computes, and its trace tells the truth."""

import json
import threading

import numpy as np
import pytest
import torch
from torch import nn

from course_utils.chapters.profiling import made_runs
from course_utils.core import files
from course_utils.traces.report import summary
from course_utils.traces.trace import Kind
from course_utils.workloads import GPT, Addition, GPTConfig, training_step
from tools.diagnosed_runs import __main__ as command
from tools.diagnosed_runs.messages import Messages
from tools.diagnosed_runs.programs import PROGRAMS, convolutions, mlp, numbers, squares, train
from tools.diagnosed_runs.queue_device import Device, move
from tools.diagnosed_runs.recording import profiled


def values(tensor):
    tensor.where.synchronize()
    return tensor.cell.values


def test_a_gpt_learns_on_the_queue_what_it_learns_without_to_the_last_bit():
    lines, losses = Addition().train[:8], {}
    for device in (None, Device()):
        torch.manual_seed(0)
        model = GPT(GPTConfig.tiny())
        model = move(model, device) if device else model
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        found = [
            training_step(model, optimizer, device.put(lines) if device else lines)
            for _ in range(4)
        ]
        losses[device] = [one.item() for one in found]
    assert len(set(map(tuple, losses.values()))) == 1 and losses[None][-1] < losses[None][0]


def test_batch_norms_statistics_are_the_queues_too():
    torch.manual_seed(0)
    images, plain = torch.randn(2, 3, 32, 32), convolutions()
    torch.manual_seed(0)
    torch.randn(2, 3, 32, 32)
    queued = move(convolutions(), device := Device())
    want, got = plain(images), queued(device.put(images))
    assert torch.equal(values(got), want)
    assert torch.equal(values(queued[1].running_mean), plain[1].running_mean)
    assert values(queued[1].num_batches_tracked).item() == 1


def test_a_launch_comes_back_before_its_work_and_item_waits_for_it():
    device, gate, seen = Device(), threading.Event(), []
    x = device.put(torch.arange(6.0))
    device.queue.wait_event(gate)
    y = (x.view(2, 3).t() * 2).sum()
    assert y.shape == () and not hasattr(y.cell, "values")
    reader = threading.Thread(target=lambda: seen.append(y.item()))
    reader.start()
    reader.join(0.05)
    assert reader.is_alive()
    gate.set()
    reader.join(30)
    assert seen == [30.0]


def test_what_fails_on_the_queue_is_said_when_somebody_waits():
    device = Device()
    table = device.put(torch.zeros(3, 2))
    found = nn.functional.embedding(device.put(torch.tensor([7])), table)
    assert found.shape == (1, 2)
    with pytest.raises(IndexError):
        found.sum().item()


def test_the_profilers_threads_become_host_and_device():
    device = Device()
    step = train(device, mlp(16, 2), numbers(4, 16), squares, after=torch.Tensor.item)
    trace = profiled(step, 2, 1, device.synchronize)
    names = [trace.names[n] for n in trace.name]
    kernels = np.flatnonzero(trace.kind == Kind.KERNEL)
    of_host = {names[i] for i in np.flatnonzero(trace.kind == Kind.RUNTIME)}
    assert of_host == {"queueLaunchKernel", "queueStreamSynchronize"}
    assert names.count("queueStreamSynchronize") == 3, "a loss a step, and the end"
    assert [names[i] for i in kernels].count("aten::addmm") == 2 * 2
    assert names.count("Memcpy HtoD (Host -> Queue)") == 2
    assert len(set(trace.launch[kernels])) == len(kernels) and (trace.launch[kernels] >= 0).all()
    assert (trace.start[kernels] >= trace.start[trace.launch[kernels]]).all()
    assert list(trace.steps) == ["ProfilerStep#1", "ProfilerStep#2"]
    assert "(no GPU: a second thread of a CPU)" in summary(trace)
    assert not any(name.startswith("kernel ") or "#" in name for name in of_host)


def test_messages_run_on_a_stream_of_their_own_between_what_they_need_and_what_needs_them():
    device = Device()
    with Messages(device, (300,)) as messages:

        def step():
            x = device.put(torch.ones(300)) * 3
            messages.add(x)
            messages.arrive()
            found.append(x + 1)

        found = []
        trace = profiled(step, 2, 1, device.synchronize)
    assert all(torch.equal(values(one), torch.full((300,), 4.0)) for one in found), (
        "the other sent 0"
    )
    sent = np.flatnonzero(trace.messages)
    assert trace.numbers[sent].tolist() == [300, 300]
    streams = {trace.threads[n] for n in trace.thread[trace.kind == Kind.KERNEL]}
    assert streams == {("0", "7"), ("0", "8")}
    names = np.array([trace.names[n] for n in trace.name])
    made, used = (np.flatnonzero((names == one) & (trace.kind == Kind.KERNEL))
                  for one in ("aten::mul", "aten::add"))  # fmt: skip
    assert (trace.end[made] <= trace.start[sent]).all()
    assert (trace.end[sent] <= trace.start[used]).all()


@pytest.fixture
def one_try(own_data, monkeypatch):
    monkeypatch.setattr(command, "TRIES", 1)
    monkeypatch.setattr(made_runs, "_read", made_runs._read.__wrapped__)
    return own_data


def test_the_command_writes_a_run_with_its_cause_and_says_its_shares(one_try, monkeypatch, capsys):
    monkeypatch.setattr(command, "is_clear", lambda trace, cause: True)
    command.main(["many-layers"])
    said = capsys.readouterr().out
    assert said.startswith("many-layers, launch-bound: ") and "% launching" in said
    content = json.loads((files.DATA / "traces" / "many-layers.json").read_text())
    assert content["cause"] == "launch-bound" and content["what"].startswith("12 narrow layers")
    assert made_runs.run_names(shown=False) == ["many-layers"]


def test_a_run_that_shows_no_single_cause_is_not_stored(one_try, monkeypatch):
    monkeypatch.setattr(command, "is_clear", lambda trace, cause: False)
    with pytest.raises(SystemExit, match=r"many-layers: no run of 1 shows its cause alone"):
        command.main(["many-layers"])
    assert not (files.DATA / "traces").exists()
    assert set(PROGRAMS["many-layers"].lengths) == set()
