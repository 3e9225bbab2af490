"""Chapter 15, "Choosing a split"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "best": "best_splits",
        "mesh_widget": "mesh_explorer",
        "rank_bytes": "held_bytes sent_bytes",
        "splits": "Split cluster",
        "steps": "Work step",
        "trainings": "fit_efficiency held_out published_runs",
    },
)
