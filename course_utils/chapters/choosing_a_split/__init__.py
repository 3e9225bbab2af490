"""Chapter 15, "Choosing a split"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "mesh_widget": "mesh_explorer",
        "steps": "Work held_bytes layer_flops layer_sent step",
        "trainings": "fit_efficiency llama_405b_runs published_runs v100_runs",
    },
)
