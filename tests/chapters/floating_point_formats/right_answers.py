"""Right answers to chapter 6's exercises, in other ways than the worked solutions."""

import numpy as np

from tests.support.patches import changed


def with_numpy(x, precision, lowest_exponent, largest):
    x = x.numpy()
    exponent = np.maximum(np.frexp(x)[1] - 1, lowest_exponent)
    ulp = np.ldexp(np.float32(1), exponent - precision + 1)
    return np.clip(np.rint(x / ulp) * ulp, -largest, largest)


RIGHT = {
    "formats.quantiser": [
        with_numpy,
        *changed(
            "formats.quantiser",
            by_magnitude={
                "(torch.round(x / ulp) * ulp).clamp(-largest, largest)": "torch.copysign("
                "(torch.round(x.abs() / ulp) * ulp).clamp(max=largest), x)"
            },
            overwrites_what_it_got={
                "return (torch.round(x / ulp)": "x, given = x.clone(), x\n    given.zero_()\n"
                "    return (torch.round(x / ulp)"
            },
        ),
    ],
    "formats.kahan": changed(
        "formats.kahan",
        that_adds={
            "number - lost": "number + lost",
            "(grown - total) - wanted": "wanted - (grown - total)",
        },
        that_ends_with_its_loss={"return total": "return total - lost"},
    ),
    "formats.six_bits": changed(
        "formats.six_bits",
        on_a_part={"def error": "x = x[:2000]\n\n    def error", "range(-8, 16)": "range(16)"},
    ),
}
