"""Does it fit? GPUs of the usual sizes, and what a training step leaves of them."""

from course_utils.core.evidence import Row, published
from course_utils.core.gpus import gpu_specs
from course_utils.memory.prediction import Build, predict_bytes

TITLES = ("T4", "RTX 4090", "H100 SXM", "H200")


def cards() -> dict[str, float]:
    """The memory of some GPUs, in bytes, by title: 16, 24, 80 and 141 GB, as sold (10⁹ bytes).

    Whether they have a recipe's formats (a T4 has no BF16) isn't asked.
    """
    found = {title: gpu_specs(title) for title in TITLES}
    return {title: 1e9 * specs.memory_gb for title, specs in found.items() if specs}


def context_bytes() -> float:
    """What CUDA takes beside torch's allocator: the most that was published."""
    return 1e6 * max(row["mb"] for row in published("cuda_context").rows)


def room(n_bytes: float) -> dict[str, float]:
    """What is left of each card, in bytes, beside so many and the CUDA context; negative: missing.

    `n_bytes` is what torch's allocator takes of the GPU.
    """
    return {title: memory - n_bytes - context_bytes() for title, memory in cards().items()}


def will_it_fit(build: Build, steps: int = 2, capability: tuple[int, int] = (9, 0)) -> list[Row]:
    """For a training step of your own: a row for each card, and what is left of it, in GB (10⁹).

    `build(device)` returns (model, optimizer, step), as for `memory.predict_bytes`, which runs it
    on a fake GPU of that compute capability and raises what it raises. Counted is what torch's
    allocator would reserve, and CUDA's context.
    """
    found = predict_bytes(build, steps, capability)
    return [
        {
            "GPU": title,
            "GB": f"{cards()[title] / 1e9:.0f}",
            "reserved + context, GB": f"{(found.peak_reserved + context_bytes()) / 1e9:.1f}",
            "fits": "✓" if left >= 0 else "✗",
            "left, GB": f"{left / 1e9:.1f}",
        }
        for title, left in room(found.peak_reserved).items()
    ]
