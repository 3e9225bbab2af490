"""Chapter 01, "Your machine"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "inventory": "look",
        "machine_drawing": "draw_box draw_rates sketch_cpu sketch_gpu",
        "roofline": "Roof Work gpu_roof layer_norm_work matmul_work turning_batch",
        "roofline_figures": "Machine draw_bounds draw_rooflines recorded_machine roofline_point",
    },
)
