"""Finds where the time and the memory of a training script go; the script isn't changed.

`python -m training_diagnosis train.py ARGS…`, or in a notebook `watch(train)` and `%diagnose`.
"""

from importlib import import_module
from typing import Any

from snapshots_and_traces.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {"diagnosis": "diagnose", "notebook": "watch", "passes": "Script", "report": "in_words"},
)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext training_diagnosis`: makes `%diagnose` known."""

    def diagnose(line: str, cell: str | None = None) -> None:
        import_module("training_diagnosis.notebook").magic(shell, line, cell)

    shell.register_magic_function(diagnose, "line_cell", "diagnose")
