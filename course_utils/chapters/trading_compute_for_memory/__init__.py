"""Chapter 10, "Compute for memory"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "counted": "allocated_peak counted_flops kept_and_flops",
        "fit_widget": "fits_explorer",
        "ladder_peaks": "TRADES measure_trade",
        "on_gpu": "in_units recorded_in_units",
        "steps_on_gpu": "adam_from_host loss_on_gpu optimizer_on_gpu",
    },
)
