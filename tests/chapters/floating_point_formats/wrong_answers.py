"""Wrong answers to chapter 6's exercises, each as a student might write it."""

from tests.support.patches import by_name, changed

CLAMP = ".clamp(-largest, largest)"
ROUNDED = "(low + (random < x / ulp - low)) * ulp"
GUARD = "torch.where(amax > 0, amax / 448, 1)"
WRONG = {
    "formats.stochastic": changed(
        "formats.stochastic",
        rounds_to_nearest={ROUNDED: "torch.round(x / ulp) * ulp"},
        no_subnormals={".clamp(min=lowest_exponent)": ""},
        cuts_negative_numbers={"torch.floor": "torch.trunc"},
        throws_a_coin={"random < x / ulp - low": "random < 0.5"},
        goes_down_too_often={"random < x / ulp - low": "random < (x / ulp - low) ** 2"},
        no_clamp={CLAMP: ""},
    ),
    "formats.to_fp8": changed(
        "formats.to_fp8",
        makes_nan_of_zeros={GUARD: "amax / 448"},
        one_scale_for_all={
            "amax = x.abs().amax(1, keepdim=True)": "amax = x.abs().max().expand(len(x), 1)"
        },
        scale_upside_down={GUARD: "torch.where(amax > 0, 448 / amax, 1)"},
        largest_becomes_one={GUARD: "torch.where(amax > 0, amax, 1)"},
        other_format={"float8_e4m3fn": "float8_e5m2"},
        gives_numbers_back={".to(torch.float8_e4m3fn)": ".to(torch.float8_e4m3fn).float()"},
    ),
}
__getattr__ = by_name(WRONG)
