"""Bytes: counted, predicted, and handed out by an allocator."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "counting": "count",
        "made_snapshots": "loaded on_fake_gpu",
        "on_gpu": (
            "context_on_gpu emptied first_product first_tensor fits_here measured_on_gpu "
            "refusal_on_gpu reserved_on_gpu"
        ),
        "prediction": "cublas_workspace predict_bytes",
    },
)
