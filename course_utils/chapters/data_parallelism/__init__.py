"""Chapter 12, "Data parallelism"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "links": "ClockLink CountedLink apart farthest",
        "replicas": "SyncNorm backward flat_gradients flat_weights inputs replica small_net",
        "published_step": "ddp_messages ddp_spans launches",
        "scaling": "by_latency fit_latency last_ratio_again trained",
        "scaling_trials": "gpu_efficiency published_efficiency step_seconds",
        "staleness": "descend_quadratic rate_limit stale_descent",
        "step_widget": "efficiency_by_link step_timeline",
        "thread_replicas": "data_parallel",
        "train_script": "save_script",
        "ways_to_split": "draw_splits tensors_to_send",
    },
)
