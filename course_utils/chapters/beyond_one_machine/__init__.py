"""Chapter 16, "Beyond one machine"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "checkpoints": "all_numbers",
        "launching": "Launched write_program",
        "machines": "launcher_rows link_rows member_rows script",
        "save_widget": "save_explorer",
    },
)
