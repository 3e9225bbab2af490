"""Wrong answers to chapter 12's exercises, each as a student might write it."""

import torch
from torch.nn import functional as F

from tests.chapters.data_parallelism import wrong_plans


def mean_of_means(gradients, count, net):
    for g in gradients:
        net.all_reduce(g)
        g /= net.n


def weighted_but_over_the_ranks(gradients, count, net):
    for g in gradients:
        g *= count
        net.all_reduce(g)
        g /= net.n


def over_the_own_count(gradients, count, net):
    for g in gradients:
        g *= count
        net.all_reduce(g)
        g /= count * net.n


def the_empty_rank_stays_away(gradients, count, net):
    if count == 0:
        return
    total = torch.tensor([float(count)])
    net.all_reduce(total)
    for g in gradients:
        g *= count
        net.all_reduce(g)
        g /= total


def one_message_each(gradients, limit, net):
    for g in reversed(gradients):
        net.all_reduce(g)
        g /= net.n


def _send(bucket, net):
    x = torch.cat([g.flatten() for g in bucket])
    net.all_reduce(x)
    for g, part in zip(bucket, (x / net.n).split([g.numel() for g in bucket]), strict=True):
        g.copy_(part.view_as(g))


def _in_buckets(order, limit, net, by_type=True):
    bucket, size = [], 0
    for g in order:
        if bucket and (size + g.nbytes > limit or (by_type and g.dtype != bucket[-1].dtype)):
            _send(bucket, net)
            bucket, size = [], 0
        bucket.append(g)
        size += g.nbytes
    return bucket


def first_gradient_first(gradients, limit, net):
    _send(_in_buckets(gradients, limit, net), net)


def forgets_the_last_bucket(gradients, limit, net):
    _in_buckets(list(reversed(gradients)), limit, net)


def mixes_the_types(gradients, limit, net):
    _send(_in_buckets(list(reversed(gradients)), limit, net, by_type=False), net)


def one_bucket_for_all(gradients, limit, net):
    _send(list(reversed(gradients)), net)


def _train(model, batches, net, enough, broadcast=True, clip_late=True, together=True):
    if broadcast:
        for p in model.parameters():
            net.broadcast(p, 0)
    for inputs, targets in batches:
        model.zero_grad()
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        if not clip_late:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for p in model.parameters():
            net.all_reduce(p.grad)
            p.grad /= net.n
        if clip_late:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        mean = loss.detach().reshape(1)
        if together:
            net.all_reduce(mean)
            mean /= net.n
        if mean.item() < enough:
            break


def as_on_the_page(model, batches, net, enough):
    _train(model, batches, net, enough, broadcast=False, clip_late=False, together=False)


def own_weights(model, batches, net, enough):
    _train(model, batches, net, enough, broadcast=False)


def clips_before_the_average(model, batches, net, enough):
    _train(model, batches, net, enough, clip_late=False)


def stops_alone(model, batches, net, enough):
    _train(model, batches, net, enough, together=False)


WRONG = {
    "data_parallelism.average": [
        mean_of_means, weighted_but_over_the_ranks, over_the_own_count, the_empty_rank_stays_away,
    ],
    "data_parallelism.buckets": [
        one_message_each, first_gradient_first, forgets_the_last_bucket, mixes_the_types,
        one_bucket_for_all,
    ],
    "data_parallelism.train": [
        as_on_the_page, own_weights, clips_before_the_average, stops_alone,
    ],
    **wrong_plans.WRONG,
}  # fmt: skip
