"""Chapter 10, "Compute for memory"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "counted": "allocated_peak counted_flops",
        "fit_widget": "fits_explorer",
        "front": "draw_trade pareto",
        "ladder_peaks": "TRADES measure_trade",
        "on_gpu": "held_and_seconds in_units link_gb_per_s recorded_in_units",
    },
)
