"""Chapter 01, "Your machine"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "inventory": "look",
        "latency_trials": "chain_step disk_reads gpu_chain_step loopback_message process_start",
        "machine_drawing": "draw_box sketch sketch_server",
        "roofline": "Roof gpu_roof",
        "roofline_figure": (
            "draw_parts draw_rooflines draw_sweep measured_panel published_panel recorded_panel"
        ),
        "roofline_widget": "roofline_point",
        "time_ruler": "draw_ruler",
    },
)
