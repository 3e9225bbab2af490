"""Wrong answers to chapter 6's exercises, each as a student might write it."""

from course_utils.chapters.floating_point_formats import sums as summation
from tests.support.patches import by_name, changed


def in_blocks(numbers, zero):
    blocks = [numbers[i : i + 20] for i in range(0, len(numbers), 20)]
    sums = [summation.one_by_one(block, zero) for block in blocks]
    return summation.one_by_one(sums, zero)


def pairwise(numbers, zero):
    if len(numbers) <= 1:
        return numbers[0] if numbers else zero
    half = len(numbers) // 2
    return pairwise(numbers[:half], zero) + pairwise(numbers[half:], zero)


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
    "formats.kahan": [
        summation.one_by_one,
        in_blocks,
        pairwise,
        *changed(
            "formats.kahan",
            adds_the_loss={"number - lost": "number + lost"},
            leaves_the_format={"return total": "return sum(number.value for number in numbers)"},
        ),
    ],
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
