"""Chapter 14, "Tensor and pipeline parallelism"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "pipeline_pictures": "draw_pipelines pipeline_explorer",
        "pipeline_run": "UNIT_TIMES one_f_one_b simulate torch_schedule",
    },
)
