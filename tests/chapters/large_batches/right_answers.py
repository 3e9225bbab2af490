"""Right answers to chapter 17's exercises, in other ways than the worked solutions."""

from tests.support.patches import changed

RIGHT = {
    "scaling.noise_scale": changed(
        "scaling.noise_scale",
        by_the_variance_among_ranks={
            "(local - average) / (1 / b - 1 / (n * b))": "b * gradients.var(1).sum(1).mean()",
            "(n * b * average - b * local) / (n * b - b)": "average - trace / (n * b)",
            "    signal =": "    trace = b * gradients.var(1).sum(1).mean()\n    signal =",
        },
        in_a_loop={
            "gradients.square().sum(2).mean()": (
                "sum(float(g @ g) for step in gradients for g in step) / gradients[..., 0].numel()"
            ),
            "return trace / signal": "return float(trace) / float(signal)",
        },
    ),
    "scaling.plan": changed(
        "scaling.plan",
        one_by_one={"return local": "yield from (local"}
        | {"(1 + batch / offer.critical_batch)": "(1 + batch / offer.critical_batch))"},
    ),
}
