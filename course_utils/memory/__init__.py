"""Bytes: counted, predicted, and handed out by an allocator."""

from course_utils.core.doors import door

ROOMS = {
    "count": "counting",
    "context_on_gpu": "on_gpu",
    "emptied": "on_gpu",
    "first_product": "on_gpu",
    "first_tensor": "on_gpu",
    "fits_here": "on_gpu",
    "measured_on_gpu": "on_gpu",
    "reserved_on_gpu": "on_gpu",
    "cublas_workspace": "prediction",
    "predict": "prediction",
    "blocks": "recorded",
    "events": "recorded",
    "is_repeated": "recorded",
    "recorded_trace": "recorded",
    "program_of": "what_if",
    "run": "what_if",
}

__getattr__, __dir__ = door(__name__, ROOMS)
