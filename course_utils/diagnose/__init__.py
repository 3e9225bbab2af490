"""Finds where the time and the memory of the reader's own training script go.

`python -m course_utils diagnose train.py ARGS…`, or in a notebook `watch(train)`.
"""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {"diagnosis": "diagnose", "notebook": "watch", "passes": "Script", "report": "in_words"},
)
