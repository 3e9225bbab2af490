"""Chapter 06, "Floating-point formats"."""

from course_utils.core.doors import door

ROOMS = {
    "BitExplorer": "bit_explorer",
    "ALL": "formats",
    "BF16": "formats",
    "E4M3": "formats",
    "E5M2": "formats",
    "E8M0": "formats",
    "FP16": "formats",
    "FP32": "formats",
    "FP64": "formats",
    "INT8": "formats",
    "TF32": "formats",
    "make": "formats",
    "quantize": "quantizer",
}

__getattr__, __dir__ = door(__name__, ROOMS)
