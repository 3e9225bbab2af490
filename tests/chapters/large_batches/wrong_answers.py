"""Wrong answers to chapter 17's exercises, each as a student might write it."""

from tests.support.patches import changed

EXPOSED = "max(messages / k, messages - 2 / 3 * compute * (k - 1) / k)"
WRONG = {
    "scaling.plan": changed(
        "scaling.plan",
        fills_the_memory={"offer.largest_batch // n": "10**9"},
        forgets_the_memory={
            "(offer.memory_bytes - offer.state_bytes) // offer.sample_bytes": "10**9"
        },
        hides_nothing={EXPOSED: "messages"},
        hides_everything_behind_the_backward_pass={EXPOSED: "max(0, messages - 2 / 3 * compute)"},
        hides_behind_all_computing={"2 / 3 * compute": "compute"},
        says_it_scales={"compute / (compute + exposed)": "1.0"},
        global_batch_for_local={"return local": "return n * local"},
        leaves_a_byte_free={"offer.state_bytes)": "offer.state_bytes - 1)"},
        below_the_largest_batch={"offer.largest_batch //": "(offer.largest_batch - 1) //"},
        percent={"compute / (compute + exposed)": "100 * compute / (compute + exposed)"},
    ),
}
