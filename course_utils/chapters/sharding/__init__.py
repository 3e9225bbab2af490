"""Chapter 13, "Sharding"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "best": "best_splits",
        "deepspeed_guest": "deepspeed_rows",
        "gathers": "GatherLink",
        "mesh_widget": "mesh_explorer",
        "pipeline_pictures": "draw_pipelines",
        "pipeline_run": "UNIT_TIMES simulate torch_schedule",
        "rank_bytes": "held_bytes sent_bytes",
        "real_steps": "WAYS sharded_row",
        "splits": "Split cluster",
        "steps": "Work step",
        "trainings": "fit_efficiency held_out published_runs",
        "watched_stage": "Sleeper WatchedStage together",
        "watching": (
            "Traffic add_as_ring all_numbers collectives gathered most_held most_whole units_of"
        ),
    },
)
