"""Chapter 13, "Sharding"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "best": "best_splits",
        "by_version": "collectives",
        "deepspeed_guest": "deepspeed_rows Traffic",
        "gathers": "GatherLink",
        "mesh_widget": "mesh_explorer",
        "pipeline_pictures": "draw_pipelines",
        "pipeline_run": "UNIT_TIMES simulate",
        "rank_bytes": "held_bytes sent_bytes",
        "real_steps": "WAYS sharded_row",
        "ring_order": "add_as_ring gathered most_held most_whole units_of",
        "splits": "Split cluster",
        "steps": "Work step",
        "torch_schedules": "torch_schedule",
        "trainings": "fit_efficiency held_out published_runs",
        "watched_stage": "Sleeper WatchedStage together",
        "whole_states": "all_numbers",
    },
)
