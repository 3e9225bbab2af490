"""Chapter 12, "Data parallelism"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "links": "ClockLink CountedLink apart farthest",
        "published_step": "ddp_messages ddp_spans launches",
        "real_results": "gpu_efficiency published_efficiency",
        "replicas": "SyncNorm backward flat_gradients flat_weights inputs replica small_net",
        "scaling": "by_latency fit_latency growth last_ratio_again trained",
        "step_widget": "efficiency_by_link step_timeline",
        "steps_by_hand": "data_parallel step_seconds",
        "ways_to_split": "draw_splits tensors_to_send",
    },
)
