"""Wrong answers to chapter 12's exercises, each as a student might write it."""

from tests.support.patches import changed

MEAN = "gradient /= total"
FULL, SENT_BACK = "size + p.nbytes > limit", "p.grad.copy_(part.view_as(p))"
HOOKED = "while len(sent) < len(buckets) and ready.issuperset(buckets[len(sent)]):"
BEHIND = "sum(buckets[:len(sent) + 2], [])"
WRONG = {
    "data_parallelism.average": changed(
        "data_parallelism.average",
        mean_of_means={"        gradient *= count\n": "", MEAN: "gradient /= net.n"},
        weighted_but_over_the_ranks={MEAN: "gradient /= net.n"},
        over_the_own_count={MEAN: "gradient /= count * net.n"},
        the_empty_rank_stays_away={"total =": "if count == 0:\n        return\n    total ="},
        an_empty_rank_divides_by_its_count={MEAN: f"{MEAN} if count else 0.0"},
        returns_the_means={
            "for gradient in": "gradients = [g.clone() for g in gradients]\n    for gradient in",
            MEAN: f"{MEAN}\n    return gradients",
        },
        of_another_shape={MEAN: f"{MEAN}\n    gradients[:] = [g[None] for g in gradients]"},
        loses_the_gradients={MEAN: f"{MEAN}\n    gradients.clear()"},
    ),
    "data_parallelism.ddp": changed(
        "data_parallelism.ddp",
        no_broadcast={"        net.broadcast(p, 0)\n": ""},
        a_sum_instead_of_a_mean={"(flat / net.n)": "flat"},
        keeps_its_own_gradient={SENT_BACK: "pass"},
        sends_at_the_end={
            HOOKED: "while len(ready) == len([*model.parameters()]) and len(sent) < len(buckets):"
        },
        as_they_come={
            HOOKED: "for bucket in [b for b in buckets if any(p is q for q in b)"
            " and ready.issuperset(b)]:",
            "send(buckets[len(sent)])": "send(bucket)",
        },
        one_message_each={FULL: "True"},
        one_bucket_for_all={FULL: "not buckets"},
        closes_a_bucket_past_its_limit={FULL: "not buckets or size >= limit"},
        counts_numbers={FULL: "size + p.numel() > limit", "+= p.nbytes": "+= p.numel()"},
        first_parameter_first={"reversed(list(model.parameters()))": "model.parameters()"},
        only_one_step={"        if len(sent) == len(buckets):\n": "        if False:\n"},
        one_bucket_behind={HOOKED: HOOKED.replace("buckets[len(sent)]", BEHIND)},
    ),
}
