"""Chapter 01, "Your machine"."""

from course_utils.core.doors import door

ROOMS = {
    "look": "inventory",
    "chain_step": "latency_trials",
    "disk_reads": "latency_trials",
    "gpu_chain_step": "latency_trials",
    "loopback_message": "latency_trials",
    "process_start": "latency_trials",
    "draw_box": "machine_drawing",
    "sketch": "machine_drawing",
    "sketch_server": "machine_drawing",
    "Roof": "roofline",
    "gpu_roof": "roofline",
    "draw_parts": "roofline_figure",
    "draw_rooflines": "roofline_figure",
    "draw_sweep": "roofline_figure",
    "measured_panel": "roofline_figure",
    "published_panel": "roofline_figure",
    "recorded_panel": "roofline_figure",
    "roofline_point": "roofline_widget",
    "draw_ruler": "time_ruler",
}

__getattr__, __dir__ = door(__name__, ROOMS)
