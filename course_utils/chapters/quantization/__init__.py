"""Chapter 08, "Quantization"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(__name__, {})
