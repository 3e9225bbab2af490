"""Chapter 01, "Your machine"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "inventory": "look pcie_gb_per_s",
        "latency_trials": "beyond_memory gpu_chain ring",
        "machine_drawing": "draw_box sketch sketch_server",
        "operations": "Work",
        "paging": "ones_in_pages",
        "roofline": "Roof gpu_roof",
        "roofline_widget": (
            "draw_parts draw_rooflines draw_sweep measured_panel published_panel recorded_panel "
            "roofline_point"
        ),
        "time_ruler": "draw_ruler",
    },
)
