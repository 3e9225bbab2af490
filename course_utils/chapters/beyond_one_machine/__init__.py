"""Chapter 16, "Beyond one machine"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "launching": "Launched write_program",
        "save_widget": "save_explorer",
        "stopped_runs": "share_kept",
    },
)
