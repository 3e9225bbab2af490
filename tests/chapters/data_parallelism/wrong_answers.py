"""Wrong answers to chapter 12's exercises, each as a student might write it."""

import math

import torch
from torch.nn import functional as F


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


def _means(gradients, count, net):
    total = torch.tensor([float(count)])
    net.all_reduce(total)
    for g in gradients:
        g *= count
        net.all_reduce(g)
        g /= total


def an_empty_rank_divides_by_its_count(gradients, count, net):
    _means(gradients, count, net)
    for g in gradients:
        g *= count / count if count else math.nan


def means_of_nan(gradients, count, net):
    _means(gradients, count, net)
    gradients[:] = [g * math.nan for g in gradients]


def returns_the_means(gradients, count, net):
    means = [g.clone() for g in gradients]
    _means(means, count, net)
    return means


def of_another_shape(gradients, count, net):
    _means(gradients, count, net)
    gradients[:] = [g[None] for g in gradients]


def loses_the_gradients(gradients, count, net):
    _means(gradients, count, net)
    gradients.clear()


def one_message_each(gradients, limit, net):
    for g in reversed(gradients):
        net.all_reduce(g)
        g /= net.n


def _send(bucket, net):
    x = torch.cat([g.flatten() for g in bucket])
    net.all_reduce(x)
    for g, part in zip(bucket, (x / net.n).split([g.numel() for g in bucket]), strict=True):
        g.copy_(part.view_as(g))


def _in_buckets(order, limit, net, by_type=True, full=None, n_bytes=lambda g: g.nbytes):
    """Sends all buckets but the last, and returns that; `full(size, more)` closes one."""
    bucket, size = [], 0
    full = full or (lambda size, more: size + more > limit)
    for g in order:
        if bucket and (full(size, n_bytes(g)) or (by_type and g.dtype != bucket[-1].dtype)):
            _send(bucket, net)
            bucket, size = [], 0
        bucket.append(g)
        size += n_bytes(g)
    return bucket


def first_gradient_first(gradients, limit, net):
    _send(_in_buckets(gradients, limit, net), net)


def forgets_the_last_bucket(gradients, limit, net):
    _in_buckets(list(reversed(gradients)), limit, net)


def mixes_the_types(gradients, limit, net):
    _send(_in_buckets(list(reversed(gradients)), limit, net, by_type=False), net)


def one_bucket_for_all(gradients, limit, net):
    _send(list(reversed(gradients)), net)


def _last_first(gradients, limit, net, **ways):
    _send(_in_buckets(gradients[::-1], limit, net, **ways), net)


def the_limit_is_too_much(gradients, limit, net):
    _last_first(gradients, limit, net, full=lambda size, more: size + more >= limit)


def closes_a_bucket_that_is_full(gradients, limit, net):
    _last_first(gradients, limit, net, full=lambda size, more: size >= limit)


def a_large_one_joins(gradients, limit, net):
    _last_first(gradients, limit, net, full=lambda size, more: size + more > limit >= more)


def others_join_a_large_one(gradients, limit, net):
    _last_first(gradients, limit, net, full=lambda size, more: size <= limit < size + more)


def counts_numbers(gradients, limit, net):
    _last_first(gradients, limit, net, n_bytes=lambda g: g.numel())


def four_bytes_each(gradients, limit, net):
    _last_first(gradients, limit, net, n_bytes=lambda g: 4 * g.numel())


def goes_on_counting_after_a_type(gradients, limit, net):
    bucket, size = [], 0
    for g in reversed(gradients):
        full = size + g.nbytes > limit
        if bucket and (full or g.dtype != bucket[-1].dtype):
            _send(bucket, net)
            bucket, size = [], 0 if full else size
        bucket.append(g)
        size += g.nbytes
    _send(bucket, net)


def leaves_out_large_ones(gradients, limit, net):
    small = [g for g in gradients if g.nbytes <= limit]
    _last_first(small or gradients, limit, net)


def buckets_of_nan(gradients, limit, net):
    _last_first(gradients, limit, net)
    for g in gradients:
        g *= math.nan


def keeps_fp32(gradients, limit, net):
    _last_first(gradients, limit, net)
    gradients[:] = [g.float() for g in gradients]


LOSSES = {
    "together": lambda own, net: _sum(own, net) / net.n,
    "sum": lambda own, net: _sum(own, net),
    "any": lambda own, net: min(_all(own, net)),
    "all": lambda own, net: max(_all(own, net)),
    "rank 0": lambda own, net: _all(own, net)[0],
    "alone": lambda own, net: own,
    "never": lambda own, net: math.inf,
}


def _sum(own, net):
    total = torch.tensor(own)
    net.all_reduce(total)
    return total.item()


def _all(own, net):
    losses = torch.zeros(net.n)
    losses[net.rank] = own
    net.all_reduce(losses)
    return losses.tolist()


def _average(model, net):
    for p in model.parameters():
        net.all_reduce(p.grad)
        p.grad /= net.n


def _clip(model):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


def _average_and_clip(model, net):
    _average(model, net)
    _clip(model)


def _train(
    model, batches, net, enough, broadcast=True, averages=_average_and_clip, zero=True,
    loss_that_decides="together", later=False, before=False,
):  # fmt: skip
    if broadcast:
        for p in model.parameters():
            net.broadcast(p, 0)
    for inputs, targets in batches:
        if zero:
            model.zero_grad()
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        averages(model, net)
        if before and LOSSES[loss_that_decides](loss.item(), net) < enough:
            break
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        if later:
            loss = F.mse_loss(model(inputs), targets)
        if not before and LOSSES[loss_that_decides](loss.item(), net) < enough:
            break


def _clip_and_average(model, net):
    _clip(model)
    _average(model, net)


def as_on_the_page(model, batches, net, enough):
    _train(
        model, batches, net, enough, broadcast=False, averages=_clip_and_average,
        loss_that_decides="alone",
    )  # fmt: skip


def own_weights(model, batches, net, enough):
    _train(model, batches, net, enough, broadcast=False)


def the_same_weights_and_own_biases(model, batches, net, enough):
    net.broadcast(next(model.parameters()), 0)
    _train(model, batches, net, enough, broadcast=False)


def begins_at_zero(model, batches, net, enough):
    for p in model.parameters():
        p.data.zero_()
    _train(model, batches, net, enough, broadcast=False)


def clips_before_the_average(model, batches, net, enough):
    _train(model, batches, net, enough, averages=_clip_and_average)


def does_not_divide(model, batches, net, enough):
    def averages(model, net):
        for p in model.parameters():
            net.all_reduce(p.grad)
        _clip(model)

    _train(model, batches, net, enough, averages=averages)


def divides_what_was_clipped(model, batches, net, enough):
    def averages(model, net):
        for p in model.parameters():
            net.all_reduce(p.grad)
        _clip(model)
        for p in model.parameters():
            p.grad /= net.n

    _train(model, batches, net, enough, averages=averages)


def does_not_clip(model, batches, net, enough):
    _train(model, batches, net, enough, averages=_average)


def clips_each_parameter(model, batches, net, enough):
    def averages(model, net):
        _average(model, net)
        for p in model.parameters():
            torch.nn.utils.clip_grad_norm_(p, 1.0)

    _train(model, batches, net, enough, averages=averages)


def gradients_pile_up(model, batches, net, enough):
    _train(model, batches, net, enough, zero=False)


def stops_alone(model, batches, net, enough):
    _train(model, batches, net, enough, loss_that_decides="alone")


def rank_0_stops_all(model, batches, net, enough):
    _train(model, batches, net, enough, loss_that_decides="rank 0")


def stops_with_the_first(model, batches, net, enough):
    _train(model, batches, net, enough, loss_that_decides="any")


def stops_with_the_last(model, batches, net, enough):
    _train(model, batches, net, enough, loss_that_decides="all")


def stops_by_the_sum(model, batches, net, enough):
    _train(model, batches, net, enough, loss_that_decides="sum")


def never_stops(model, batches, net, enough):
    _train(model, batches, net, enough, loss_that_decides="never")


def stops_by_the_loss_afterwards(model, batches, net, enough):
    _train(model, batches, net, enough, later=True)


def stops_before_the_last_update(model, batches, net, enough):
    _train(model, batches, net, enough, before=True)


def weights_of_nan(model, batches, net, enough):
    for p in model.parameters():
        p.data.fill_(math.nan)


def one_weight_of_nan(model, batches, net, enough):
    _train(model, batches, net, enough)
    if net.rank == net.n - 1:
        next(model.parameters()).data[0, 0] = math.nan


WRONG = {
    "data_parallelism.average": [
        mean_of_means, weighted_but_over_the_ranks, over_the_own_count, the_empty_rank_stays_away,
        an_empty_rank_divides_by_its_count, means_of_nan, returns_the_means, of_another_shape,
        loses_the_gradients,
    ],
    "data_parallelism.buckets": [
        one_message_each, first_gradient_first, forgets_the_last_bucket, mixes_the_types,
        one_bucket_for_all, the_limit_is_too_much, closes_a_bucket_that_is_full,
        a_large_one_joins, others_join_a_large_one, counts_numbers, four_bytes_each,
        goes_on_counting_after_a_type, leaves_out_large_ones, buckets_of_nan, keeps_fp32,
    ],
    "data_parallelism.train": [
        as_on_the_page, own_weights, the_same_weights_and_own_biases, begins_at_zero,
        clips_before_the_average, does_not_divide, divides_what_was_clipped, does_not_clip,
        clips_each_parameter, gradients_pile_up, stops_alone, rank_0_stops_all,
        stops_with_the_first, stops_with_the_last, stops_by_the_sum, never_stops,
        stops_by_the_loss_afterwards, stops_before_the_last_update, weights_of_nan,
        one_weight_of_nan,
    ],
}  # fmt: skip
