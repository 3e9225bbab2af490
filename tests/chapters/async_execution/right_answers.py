"""Right answers to chapter 2's exercises, in other ways than the worked solutions."""

import numpy as np
import torch


def speedup_by_the_slower_side(t1, t2, t3, n):
    queued = n * t1 + t2 + t3 if t1 > t2 else t1 + n * t2 + t3
    return torch.tensor(n * (t1 + t2 + t3) / queued, dtype=torch.float64)


def speedup_of_numpy(t1, t2, t3, n):
    starts = np.arange(1, n + 1) * t1
    ends = np.maximum(starts[-1] + t2, t1 + n * t2)
    return np.float64(n) * (t1 + t2 + t3) / (ends + t3)


def learns(model, batches):
    """The losses of each step, on the device."""
    losses = []
    for x, y in batches:
        error = (model(x) - y).abs()
        loss = (error * (error > 0.1)).mean()
        loss.backward()
        grad = model.weight.grad
        with torch.no_grad():
            model.weight -= 0.1 * grad / torch.maximum(grad.norm(), torch.ones(()))
        model.zero_grad()
        losses.append(loss.detach())
    return losses


def copies_then_lists(model, batches, log):
    log(torch.stack(learns(model, batches)).cpu().tolist())


def copies_to_the_host(model, batches, log):
    log(torch.stack(learns(model, batches)).to("cpu").numpy().tolist())


def logs_an_array(model, batches, log):
    log(torch.stack(learns(model, batches)).cpu().numpy())


def logs_numbers_of_numpy(model, batches, log):
    log(tuple(torch.stack(learns(model, batches)).numpy()))


def reads_a_copy_bit_by_bit(model, batches, log):
    on_the_host = torch.stack(learns(model, batches)).cpu()
    log([loss.item() for loss in on_the_host])


def one_by_one_from_a_copy(model, batches, log):
    on_the_host = torch.stack(learns(model, batches)).cpu()
    log(float(loss) for loss in on_the_host)


def keeps_the_events(n, copier, computer):
    copied, computed = [None] * n, [None] * n
    for chunk in range(n):
        if chunk > 1:
            copier.wait_event(computed[chunk - 2])
        copier.launch(chunk, chunk & 1)
        copied[chunk] = copier.record_event()
        computer.wait_event(copied[chunk])
        computer.launch(chunk, chunk & 1)
        computed[chunk] = computer.record_event()


def the_other_buffer_first(n, copier, computer):
    free = {}
    for chunk in range(n):
        buffer = 1 - chunk % 2
        if buffer in free:
            copier.wait_event(free[buffer])
        copier.launch(chunk, buffer)
        computer.wait_event(copier.record_event())
        computer.launch(chunk, buffer)
        free[buffer] = computer.record_event()


RIGHT = {
    "async.speedup": [speedup_by_the_slower_side, speedup_of_numpy],
    "async.hidden_waits": [
        copies_then_lists, copies_to_the_host, logs_an_array, logs_numbers_of_numpy,
        reads_a_copy_bit_by_bit, one_by_one_from_a_copy,
    ],
    "async.double_buffer": [keeps_the_events, the_other_buffer_first],
}  # fmt: skip
