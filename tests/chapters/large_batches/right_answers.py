"""Right answers to chapter 17's exercises, in other ways than the worked solutions."""

from tests.support.patches import changed

RIGHT = {
    "scaling.plan": changed(
        "scaling.plan",
        one_by_one={"return local": "yield from (local"}
        | {"(compute + exposed)": "(compute + exposed))"},
    ),
}
