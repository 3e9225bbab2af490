"""Wrong answers to chapter 17's exercises, each as a student might write it."""

from tests.support.patches import changed

WRONG = {
    "scaling.noise_scale": changed(
        "scaling.noise_scale",
        the_average_for_the_true_gradient={
            "(n * b * average - b * local) / (n * b - b)": "average"
        },
        divides_before_it_averages={
            "local = gradients.square().sum(2).mean()": "local = gradients.square().sum(2).mean(1)",
            "average = gradients.mean(1).square().sum(1).mean()": (
                "average = gradients.mean(1).square().sum(1)"
            ),
            "trace / signal": "(trace / signal).mean()",
        },
        forgets_that_a_rank_has_several_samples={
            "n = gradients.shape[1]": "n, b = gradients.shape[1], 1"
        },
        trace_of_a_ranks_gradient={"(1 / b - 1 / (n * b))": "(1 - 1 / n)"},
        averages_over_the_run={
            "gradients.mean(1).square().sum(1).mean()": ("gradients.mean((0, 1)).square().sum()")
        },
        rank_0_alone={"gradients.square().sum(2).mean()": "gradients[:, 0].square().sum(1).mean()"},
        upside_down={"trace / signal": "signal / trace"},
        biased_by_one_rank={"(n * b - b)": "(n * b)"},
    ),
    "scaling.plan": changed(
        "scaling.plan",
        fills_the_memory={"offer.critical_batch // n": "10**9"},
        forgets_the_memory={
            "(offer.memory_bytes - offer.state_bytes) // offer.sample_bytes": "10**9"
        },
        global_batch_for_local={"return local": "return n * local"},
        leaves_a_byte_free={"offer.state_bytes)": "offer.state_bytes - 1)"},
        below_the_critical_batch={"offer.critical_batch // n": "(offer.critical_batch - 1) // n"},
        rate_of_the_local_batch={"critical_batch / batch\n": "critical_batch / local\n"},
        root_rule_beyond_its_reach={"(old / new)": "(batch / offer.base_batch)"},
        forgets_the_law={" / (1 + batch / offer.critical_batch)": ""},
        law_of_the_local_batch={"1 + batch /": "1 + local /"},
        law_of_the_steps={"batch / offer.critical_batch)": "offer.critical_batch / batch)"},
        all_of_the_time={"offer.computing /": "1.0 /"},
        percent={"offer.computing /": "100 * offer.computing /"},
    ),
}
