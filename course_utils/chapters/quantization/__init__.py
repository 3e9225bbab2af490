"""Chapter 08, "Quantization"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "grid_widget": "grid_explorer",
        "layers": "inputs_of looks looks_by_method named_linears torchao",
        "on_gpu": "formats_on_gpu linear_on_gpu",
    },
)
