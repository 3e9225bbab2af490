"""Chapter 17, "Large batches"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(__name__, {"learning": "tens_digits"})
