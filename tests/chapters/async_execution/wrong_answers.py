"""Wrong answers to chapter 2's exercises, each as a student might write it."""

import math

import torch

from course_utils.chapters.async_execution.exercises import slow_train
from tests.chapters.async_execution.right_answers import learns


def always_device_bound(t1, t2, t3, n):
    return n * (t1 + t2 + t3) / (t1 + n * t2 + t3)


def without_the_return(t1, t2, t3, n):
    return n * (t1 + t2) / (t1 + t2 + (n - 1) * max(t1, t2))


def only_the_slower_side(t1, t2, t3, n):
    return n * (t1 + t2 + t3) / (n * max(t1, t2) + t3)


def a_remembered_number(t1, t2, t3, n):
    return 2.2


def log_tensors(model, batches, log):
    losses = []
    for x, y in batches:
        error = (model(x) - y).abs()
        loss = torch.where(error > 0.1, error, 0).sum() / error.numel()
        loss.backward()
        grad = model.weight.grad
        model.weight.data -= 0.1 * grad / grad.norm().clamp(min=1)
        model.zero_grad()
        losses.append(loss.detach())
    log(losses)


def keep_the_mask(model, batches, log):
    losses = []
    for x, y in batches:
        error = (model(x) - y).abs()
        loss = error[error > 0.1].sum() / error.numel()
        loss.backward()
        grad = model.weight.grad
        model.weight.data -= 0.1 * grad / grad.norm().clamp(min=1)
        model.zero_grad()
        losses.append(loss.detach())
    log(torch.stack(losses).tolist())


def forget_to_clip(model, batches, log):
    losses = []
    for x, y in batches:
        error = (model(x) - y).abs()
        loss = torch.where(error > 0.1, error, 0).sum() / error.numel()
        loss.backward()
        model.weight.data -= 0.1 * model.weight.grad
        model.zero_grad()
        losses.append(loss.detach())
    log(torch.stack(losses).tolist())


def clips_always(model, batches, log):
    losses = []
    for x, y in batches:
        error = (model(x) - y).abs()
        loss = torch.where(error > 0.1, error, 0).sum() / error.numel()
        loss.backward()
        grad = model.weight.grad
        model.weight.data -= 0.1 * grad / grad.norm()
        model.zero_grad()
        losses.append(loss.detach())
    log(torch.stack(losses).tolist())


def small_errors_too(model, batches, log):
    losses = []
    for x, y in batches:
        loss = (model(x) - y).abs().mean()
        loss.backward()
        grad = model.weight.grad
        model.weight.data -= 0.1 * grad / grad.norm().clamp(min=1)
        model.zero_grad()
        losses.append(loss.detach())
    log(torch.stack(losses).tolist())


def reads_each_at_the_end(model, batches, log):
    log([loss.item() for loss in learns(model, batches)])


def logs_nan(model, batches, log):
    slow_train(model, batches, lambda losses: log([math.nan] * len(losses)))


def log_the_last_loss_only(model, batches, log):
    slow_train(model, batches, lambda losses: log(losses[-1:]))


def no_events(n, copier, computer):
    for chunk in range(n):
        copier.launch(chunk, chunk % 2)
        computer.launch(chunk, chunk % 2)


def one_buffer(n, copier, computer):
    for chunk in range(n):
        copier.wait_event(computer.record_event())
        copier.launch(chunk, 0)
        computer.wait_event(copier.record_event())
        computer.launch(chunk, 0)


def buffers_overwritten(n, copier, computer):
    for chunk in range(n):
        copier.launch(chunk, chunk % 2)
        computer.wait_event(copier.record_event())
        computer.launch(chunk, chunk % 2)


def host_waits(n, copier, computer):
    for chunk in range(n):
        copier.launch(chunk, chunk % 2)
        copier.synchronize()
        computer.launch(chunk, chunk % 2)
        if chunk % 2:
            computer.synchronize()


def a_buffer_for_every_chunk(n, copier, computer):
    for chunk in range(n):
        copier.launch(chunk, chunk)
        computer.wait_event(copier.record_event())
        computer.launch(chunk, chunk)


WRONG = {
    "async.speedup": [
        always_device_bound, without_the_return, only_the_slower_side, a_remembered_number,
    ],
    "async.hidden_waits": [
        slow_train, log_tensors, keep_the_mask, forget_to_clip, log_the_last_loss_only,
        clips_always, small_errors_too, reads_each_at_the_end, logs_nan,
    ],
    "async.double_buffer": [
        no_events, one_buffer, buffers_overwritten, host_waits, a_buffer_for_every_chunk,
    ],
}  # fmt: skip
