"""Bytes: counted, predicted, and handed out by an allocator."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
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
