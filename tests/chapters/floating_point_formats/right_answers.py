"""Right answers to chapter 6's exercises, in other ways than the worked solutions."""

import numpy as np
import torch

from tests.support.patches import changed

LOW = "low = torch.floor(x / ulp)"
ROUNDED = "(low + (random < x / ulp - low)) * ulp"


def with_numpy(x, precision, lowest_exponent, largest, random):
    x, random = x.numpy().astype(np.float64), random.numpy()
    exponent = np.maximum(np.frexp(x)[1] - 1, lowest_exponent)
    ulp = np.ldexp(1.0, exponent - precision + 1)
    return np.clip(np.floor(x / ulp + random) * ulp, -largest, largest)


def with_a_smallest_scale(x):
    scale = (x.abs().amax(1, keepdim=True) / 448).clamp(min=1e-12)
    return (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale


RIGHT = {
    "formats.stochastic": [
        with_numpy,
        *changed(
            "formats.stochastic",
            adds_the_random_number={ROUNDED: "torch.floor(x / ulp + random) * ulp"},
            by_magnitude={ROUNDED: "torch.copysign(torch.floor(x.abs() / ulp + random) * ulp, x)"},
            from_the_other_end={"random < x / ulp - low": "1 - random <= x / ulp - low"},
        ),
    ],
    "formats.to_fp8": [with_a_smallest_scale],
}
