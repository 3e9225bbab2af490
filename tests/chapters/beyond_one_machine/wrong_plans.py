"""Wrong answers to chapter 14's last exercise, each as a student might write it."""

import math


def by_rules(offer, fits=True, bounded=True, power=0.5, latency=True, exposed=None):
    local = (offer.memory_bytes - offer.state_bytes) // offer.sample_bytes if fits else 10**9
    if bounded:
        local = min(local, offer.largest_batch // offer.n)
    rate = offer.base_rate * (offer.n * local / offer.base_batch) ** power
    compute = local * offer.sample_flops / offer.flops_per_s
    bucket = offer.gradient_bytes / offer.buckets
    step = (offer.alpha if latency else 0) + offer.beta * bucket / offer.n
    messages = 2 * (offer.n - 1) * offer.buckets * step
    hidden = 2 / 3 * compute * (offer.buckets - 1) / offer.buckets
    shown = max(messages / offer.buckets, messages - hidden)
    if exposed:
        shown = exposed(compute, messages)
    return local, rate, compute / (compute + shown)


def fills_the_memory(offer):
    return by_rules(offer, bounded=False)


def forgets_the_memory(offer):
    return by_rules(offer, fits=False)


def keeps_the_rate(offer):
    return by_rules(offer, power=0)


def scales_the_rate_as_for_sgd(offer):
    return by_rules(offer, power=1)


def forgets_the_latency(offer):
    return by_rules(offer, latency=False)


def hides_nothing(offer):
    return by_rules(offer, exposed=lambda compute, messages: messages)


def hides_everything_behind_the_backward_pass(offer):
    return by_rules(offer, exposed=lambda compute, messages: max(0, messages - 2 / 3 * compute))


def says_it_scales(offer):
    return (*by_rules(offer)[:2], 1.0)


def global_batch_for_local(offer):
    local, rate, found = by_rules(offer)
    return offer.n * local, rate, found


def leaves_a_byte_free(offer):
    fits = (offer.memory_bytes - offer.state_bytes - 1) // offer.sample_bytes
    local, rate, found = by_rules(offer)
    return min(local, fits), rate, found


def below_the_largest_batch(offer):
    local, rate, found = by_rules(offer)
    return min(local, (offer.largest_batch - 1) // offer.n), rate, found


def an_efficiency_of_nan(offer):
    return (*by_rules(offer)[:2], math.nan)


def a_rate_of_nan(offer):
    local, _, found = by_rules(offer)
    return local, math.nan, found


def percent(offer):
    local, rate, found = by_rules(offer)
    return local, rate, 100 * found


def hides_behind_all_computing(offer):
    k = offer.buckets
    return by_rules(offer, exposed=lambda c, m: max(m / k, m - c * (k - 1) / k))


WRONG = {
    "scaling.plan": [
        fills_the_memory, forgets_the_memory, keeps_the_rate, scales_the_rate_as_for_sgd,
        forgets_the_latency, hides_nothing, hides_everything_behind_the_backward_pass,
        says_it_scales, global_batch_for_local, leaves_a_byte_free, below_the_largest_batch,
        an_efficiency_of_nan, a_rate_of_nan, percent, hides_behind_all_computing,
    ],
}  # fmt: skip
