"""Peak rates of the GPUs people meet, as their makers state them.

Tensor rates are dense: data sheets often print the rate with structured sparsity, twice as high.
GeForce tensor rates are those with FP32 accumulation, which training uses; the rate with FP16
accumulation is twice as high.
"""

from dataclasses import dataclass

HOPPER = "NVIDIA H100 data sheet, 2023 (halved: it prints sparse rates)"
TURING = "NVIDIA T4 data sheet, 2019"
VOLTA = "NVIDIA V100 data sheet, 2020"
AMPERE = "NVIDIA A100 data sheet, 2021"
GA102 = "NVIDIA Ampere GA102 whitepaper v2.1, appendix A"
ADA = "NVIDIA Ada GPU architecture whitepaper v2.1, appendix A"
LAPTOP = "NVIDIA GeForce laptop specifications; rates are cores × 2 × highest boost clock"


@dataclass(frozen=True)
class Specs:
    """What a GPU can do at most.

    Rates in dense TFLOP/s (10¹²), by dtype, None where the chip has no such unit; memory in GB
    (10⁹ bytes) and GB/s; link in GB/s, both directions added, as data sheets print it.
    """

    title: str
    names: tuple[str, ...]  # exactly as CUDA reports the device
    fp32: float
    tf32: float | None
    fp16: float
    bf16: float | None
    fp8: float | None
    memory_gb: float
    memory_gb_per_s: float
    link: str
    link_gb_per_s: float
    source: str


PCIE3, PCIE4, PCIE5 = ("PCIe 3 x16", 32), ("PCIe 4 x16", 64), ("PCIe 5 x16", 128)
PCIE4_X8 = ("PCIe 4 x8", 32)

GPUS: tuple[Specs, ...] = (
    Specs("T4", ("Tesla T4",), 8.1, None, 65, None, None, 16, 320, *PCIE3, TURING),
    Specs(
        "V100 SXM2",
        ("Tesla V100-SXM2-16GB",),
        *(15.7, None, 125, None, None, 16, 900, "NVLink 2", 300, VOLTA),
    ),
    Specs(
        "V100 SXM2 32 GB",
        ("Tesla V100-SXM2-32GB",),
        *(15.7, None, 125, None, None, 32, 900, "NVLink 2", 300, VOLTA),
    ),
    Specs(
        "A10G",
        ("NVIDIA A10G",),
        *(35, 35, 70, 70, None, 24, 600, *PCIE4, "NVIDIA A10G data sheet for AWS, 2021"),
    ),
    Specs(
        "L4",
        ("NVIDIA L4",),
        *(30.3, 60, 121, 121, 242.5, 24, 300, *PCIE4, "NVIDIA L4 data sheet, 2023 (halved)"),
    ),
    Specs(
        "RTX 3090",
        ("NVIDIA GeForce RTX 3090",),
        *(35.6, 35.6, 71, 71, None, 24, 936, *PCIE4, GA102),
    ),
    Specs(
        "RTX 4090",
        ("NVIDIA GeForce RTX 4090",),
        *(82.6, 82.6, 165.2, 165.2, 330.3, 24, 1008, *PCIE4, ADA),
    ),
    Specs(
        "RTX 3060 Laptop",
        ("NVIDIA GeForce RTX 3060 Laptop GPU",),
        *(13.1, 13.1, 26.2, 26.2, None, 6, 336, *PCIE4, LAPTOP),
    ),
    Specs(
        "RTX 4060 Laptop",
        ("NVIDIA GeForce RTX 4060 Laptop GPU",),
        *(14.6, 14.6, 29.1, 29.1, 58.2, 8, 256, *PCIE4_X8, LAPTOP),
    ),
    Specs(
        "A100 40 GB SXM",
        ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB"),
        *(19.5, 156, 312, 312, None, 40, 1555, "NVLink 3", 600, AMPERE),
    ),
    Specs(
        "A100 40 GB PCIe",
        ("NVIDIA A100-PCIE-40GB", "A100-PCIE-40GB"),
        *(19.5, 156, 312, 312, None, 40, 1555, *PCIE4, AMPERE),
    ),
    Specs(
        "A100 80 GB SXM",
        ("NVIDIA A100-SXM4-80GB",),
        *(19.5, 156, 312, 312, None, 80, 2039, "NVLink 3", 600, AMPERE),
    ),
    Specs(
        "A100 80 GB PCIe",
        ("NVIDIA A100 80GB PCIe",),
        *(19.5, 156, 312, 312, None, 80, 1935, *PCIE4, AMPERE),
    ),
    Specs(
        "H100 SXM",
        ("NVIDIA H100 80GB HBM3",),
        *(67, 494.5, 989, 989, 1979, 80, 3350, "NVLink 4", 900, HOPPER),
    ),
    Specs(
        "H100 PCIe",
        ("NVIDIA H100 PCIe",),
        *(51, 378, 756, 756, 1513, 80, 2000, *PCIE5, HOPPER),
    ),
    Specs(
        "H200",
        ("NVIDIA H200",),
        *(67, 494.5, 989, 989, 1979, 141, 4800, "NVLink 4", 900, "NVIDIA H200 data sheet (halved)"),
    ),
    Specs(
        "B200",
        ("NVIDIA B200",),
        *(80, 1125, 2250, 2250, 4500, 180, 8000, "NVLink 5", 1800),
        "NVIDIA DGX B200 data sheet / 8; rates by dtype in stas00/ml-engineering",
    ),
)


def gpu_specs(name: str) -> Specs | None:
    """The specs of a GPU by CUDA's name for it or by our title ("H200"), in any case.

    None for a GPU that isn't in the table: a neighbour's numbers would be a guess
    (`explain_unknown` makes the sentence for it).
    """
    wanted = name.strip().lower()
    for specs in GPUS:
        if wanted in (specs.title.lower(), *(n.lower() for n in specs.names)):
            return specs
    return None


def explain_unknown(name: str) -> str:
    """The sentence for a GPU whose peak rates aren't known here."""
    known = ", ".join(specs.title for specs in GPUS)
    return (
        f"The peak rates of {name!r} aren't in course_utils/core/gpus.py, so nothing is compared "
        f"with its peak here. Known: {known}. Add a row, with its data sheet as the source."
    )
