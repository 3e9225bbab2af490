"""Chapter 08, "Quantization"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "grid_widget": "grid_explorer",
        "layers": ("dots formats_on_gpu inputs_of linear_on_gpu looks named_linears torchao"),
    },
)
