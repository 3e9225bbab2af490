"""Which GPUs have room for a training step: between what is allocated and what will be reserved."""

from course_utils.core.evidence import Row, published
from course_utils.core.gpus import gpu_specs
from course_utils.memory.prediction import Build, predict_bytes

# As torch reports them: in errors on T4s (Zheng-Chong/CatVTON#133, with ECC), RTX 4090s
# (ali-vilab/VGen#104) and H200s (139.80 GiB in many a log); of an H100, what this course's
# recordings have (nvidia-smi lists 81,559 MiB: modal-labs/modal-client#2797).
GIB = {"T4": 14.56, "RTX 4090": 23.64, "H100 SXM": 79.18, "H200": 139.80}
# What a step reserves for what comes and goes: GPT small 1.21 times its bytes (recorded), with
# checkpoints 1.38, and 1.53 with 28 sequences (predicted). Weights and states stay where they are.
RESERVED = 1.6


def cards(recipe: str = "FP32") -> dict[str, float]:
    """Bytes of memory of some GPUs, by title, that compute in the recipe's formats.

    Sizes are what torch can use, not those as sold; a desktop uses some of it. A T4 has no BF16.
    """
    found = {title: gpu_specs(title) for title in GIB}
    return {
        title: 2**30 * GIB[title]
        for title, specs in found.items()
        if specs and ("BF16" not in recipe or specs.bf16)
    }


def context_bytes() -> tuple[float, float]:
    """The least and the most that CUDA's context was found to take, in published bytes."""
    found = [1e6 * row["mb"] for row in published("cuda_context").rows]
    return min(found), max(found)


def needed(allocated: float, always: float) -> tuple[float, float]:
    """Bytes of a GPU that a step needs at least, and with a margin; `allocated` at its peak.

    `always` are those of weights and states. At least: what is allocated, and the smallest context.
    With a margin: RESERVED times what isn't `always` there, for segments that the allocator holds
    and can't use, and the largest context.
    """
    least, most = context_bytes()
    return allocated + least, always + RESERVED * (allocated - always) + most


def verdict(size: float, allocated: float, always: float) -> str:
    """ "fits", "tight" (only if the allocator wastes less than the margin) or "too small"."""
    return _answer(size, *needed(allocated, always))


def _answer(size: float, least: float, safe: float) -> str:
    return "fits" if safe <= size else "tight" if least <= size else "too small"


def on_card(title: str, allocated: float, always: float) -> str:
    """The verdict on a card, by its title, for `allocated` bytes at the peak, `always` of them."""
    return verdict(cards()[title], allocated, always)


def will_it_fit(build: Build, steps: int = 2, capability: tuple[int, int] = (9, 0)) -> list[Row]:
    """Predicts whether your training step fits: a row for each card, in GB (10⁹ bytes).

    `build(device)` returns (model, optimizer, step), as for `memory.predict_bytes`, which runs it
    on a fake GPU of that compute capability and raises what it raises. The allocator is torch's,
    run on a card with room to spare. What it reserves there fits; from what is allocated on, a step
    is "tight": the allocator gives unused blocks back before it fails.
    """
    found = predict_bytes(build, steps, capability)
    small, large = context_bytes()
    least, most = found.peak_allocated + small, found.peak_reserved + large
    return [
        {
            "GPU": title,
            "has, GB": f"{size / 1e9:.1f}",
            "allocated, GB": f"{found.peak_allocated / 1e9:.1f}",
            "reserved, GB": f"{found.peak_reserved / 1e9:.1f}",
            "with CUDA's context, GB": f"{least / 1e9:.1f} to {most / 1e9:.1f}",
            "answer": _answer(size, least, most),
        }
        for title, size in cards().items()
    ]
