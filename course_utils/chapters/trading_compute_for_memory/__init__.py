"""Chapter 10, "Compute for memory"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "compiled": "with_budget",
        "counted": "counted_flops state_bytes",
        "fit_widget": "fits_explorer",
        "front": "draw_trade pareto",
        "ladder_peaks": "in_gib measure_trade predicted_trades predicted_where recorded_in_gib",
    },
)
