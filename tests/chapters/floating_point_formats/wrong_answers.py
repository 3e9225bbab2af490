"""Wrong answers to chapter 6's exercises, each as a student might write it."""

from course_utils.chapters.floating_point_formats import exercises as summation
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
ENDS = {"while True": "while n < 200"}
CHOICE = "min(designs, key=lambda pb: error(*pb))"
WRONG = {
    "formats.quantiser": changed(
        "formats.quantiser",
        no_subnormals={".clamp(min=lowest_exponent)": ""},
        cut_off={"torch.round": "torch.trunc"},
        half_goes_up={"torch.round(x / ulp)": "torch.floor(x / ulp + 0.5)"},
        no_clamp={CLAMP: ""},
        loses_the_sign_of_zero={CLAMP: f"{CLAMP} + 0.0"},
        makes_nan_zero={CLAMP: f".nan_to_num(0.0){CLAMP}"},
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
    "formats.smallest_n": changed(
        "formats.smallest_n",
        remembers_one_number={"n = 0": "return 14"},
        rounds_at_the_end=ENDS
        | {"fmt.round(total + part)": "total + part", "abs(total": "abs(fmt.round(total)"},
        divides_exactly=ENDS | {"fmt.round(1 / n)": "1 / n"},
        only_too_large=ENDS | {"abs(total - 1)": "total - 1"},
        only_too_small=ENDS | {"abs(total - 1)": "1 - total"},
    ),
    "formats.six_bits": changed(
        "formats.six_bits",
        always_e3m2={CHOICE: "3, 3"},
        most_digits={CHOICE: "5, 0"},
        reach_for_the_largest={CHOICE: "2, 7 - round(np.log2(np.abs(x).max()))"},
        least_maximum={"np.mean((x - rounded) ** 2)": "np.abs(x - rounded).max()"},
    ),
}
__getattr__ = by_name(WRONG)
