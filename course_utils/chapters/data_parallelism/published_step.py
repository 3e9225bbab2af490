"""A published step of ResNet-50 under DDP on 2 × A100: what is sent, and what is launched."""

from dataclasses import replace

from course_utils.core.evidence import published
from course_utils.figures.timeline import Span

STEP = 2  # of the three that the trace has


def ddp_spans(start: float = 0.0, end: float = 1.0) -> list[Span]:
    """The step's host, its kernels, and NCCL's with the MB of their messages.

    What lies between two times of the step, in seconds; what goes beyond is cut off.
    """
    found = [
        Span(row["row"], row["label"], row["start_seconds"], row["end_seconds"])
        for row in published("ddp_resnet50_step").rows
    ]
    for row in published("ddp_resnet50_nccl").rows:
        if row["step"] == STEP:
            begin, note = row["start_seconds"], f"{row['n_bytes'] / 1e6:.0f} MB"
            found.append(Span("NCCL", row["collective"], begin, begin + row["seconds"], note))
    return [
        replace(span, start=max(span.start, start), end=min(span.end, end))
        for span in found
        if span.end > start and span.start < end
    ]


def ddp_messages() -> list[dict[str, str]]:
    """The step's sums, with their units: rows of a table."""
    return [
        {
            "message": f"{row['n_bytes'] / 1e6:.1f} MB",
            "begins at": f"{1e3 * row['start_seconds']:.0f} ms",
            "takes": f"{1e3 * row['seconds']:.1f} ms",
        }
        for row in published("ddp_resnet50_nccl").rows
        if row["step"] == STEP and row["collective"] == "all_reduce"
    ]


def launches() -> dict[str, str]:
    """How many launches the step has, and the means of what they take: a table's row."""
    row = published("ddp_resnet50_kernels").rows[STEP - 1]
    names = {
        "a launch each": "spacing_seconds",
        "a kernel takes": "kernel_seconds",
        "half of the kernels begin within": "wait_seconds",
    }
    means = {name: f"{1e6 * row[column]:.0f} µs" for name, column in names.items()}
    return {"launches": str(row["launches"]), **means}
