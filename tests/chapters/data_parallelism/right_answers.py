"""Right answers to chapter 12's exercises, in other ways than the worked solutions."""

import numpy as np
import torch
from torch.nn import functional as F

from tests.chapters.data_parallelism.wrong_answers import _in_buckets, _send, _train


def _means(gradients, count, net):
    total = torch.tensor(count)
    net.all_reduce(total)
    for gradient in gradients:
        mean = gradient.double() * count
        net.all_reduce(mean)
        yield mean / total


def other_tensors_in_the_list(gradients, count, net):
    gradients[:] = _means(gradients, count, net)


def arrays_in_the_list(gradients, count, net):
    gradients[:] = [mean.numpy() for mean in _means(gradients, count, net)]


def weighs_first(gradients, count, net):
    total = torch.tensor(count)
    net.all_reduce(total)
    for gradient in gradients:
        gradient.mul_(count / total.item())
        net.all_reduce(gradient)


def count_and_gradients_in_one_message(gradients, count, net):
    x = torch.cat([torch.tensor([float(count)]), *(count * g.flatten() for g in gradients)])
    net.all_reduce(x)
    parts = (x[1:] / x[0]).split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def divides_before_it_sends(gradients, limit, net):
    for gradient in gradients:
        gradient /= net.n
    last = _in_buckets(list(reversed(gradients)), limit, net)
    _send(last, net)
    for gradient in gradients:
        gradient *= net.n


def other_gradients_in_the_list(gradients, limit, net):
    means = [gradient.clone() for gradient in gradients]
    _send(_in_buckets(means[::-1], limit, net), net)
    gradients[:] = means


def new_data(gradients, limit, net):
    means = [gradient.clone() for gradient in gradients]
    _send(_in_buckets(means[::-1], limit, net), net)
    for gradient, mean in zip(gradients, means, strict=True):
        gradient.data = mean


def an_optimizer(model, batches, net, enough):
    for p in model.parameters():
        net.broadcast(p.data, 0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        for p in model.parameters():
            p.grad /= net.n
            net.all_reduce(p.grad)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        net.all_reduce(loss)
        if loss.item() / net.n < enough:
            return


def gradients_and_loss_in_one_message(model, batches, net, enough):
    for p in model.parameters():
        net.broadcast(p.data, 0)
    for inputs, targets in batches:
        model.zero_grad()
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        x = torch.cat([*(p.grad.flatten() for p in model.parameters()), loss.detach()[None]])
        net.all_reduce(x)
        *gradient, mean = (x / net.n).tolist()
        torch.nn.utils.vector_to_parameters(
            torch.nn.utils.parameters_to_vector(model.parameters()).detach()
            - 0.1 * torch.tensor(gradient) / max(1, np.linalg.norm(gradient)),
            model.parameters(),
        )
        if mean < enough:
            break


def begins_with_the_last_ranks_weights(model, batches, net, enough):
    for p in model.parameters():
        net.broadcast(p, net.n - 1)
    _train(model, batches, net, enough, broadcast=False)


def begins_with_the_mean_of_the_weights(model, batches, net, enough):
    for p in model.parameters():
        net.all_reduce(p)
        p.data /= net.n
    _train(model, batches, net, enough, broadcast=False)


RIGHT = {
    "data_parallelism.average": [
        other_tensors_in_the_list, arrays_in_the_list, weighs_first,
        count_and_gradients_in_one_message,
    ],
    "data_parallelism.buckets": [
        divides_before_it_sends, other_gradients_in_the_list, new_data,
    ],
    "data_parallelism.train": [
        an_optimizer, gradients_and_loss_in_one_message, begins_with_the_last_ranks_weights,
        begins_with_the_mean_of_the_weights,
    ],
}  # fmt: skip
