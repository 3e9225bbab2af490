"""Chapter 12, "Data parallelism"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "learning": "tens_digits",
        "links": "CountedLink SlowLink apart",
        "replicas": "backward replica statistics_from_sums wrong_gradients",
        "gradient_compression": "losses_by_exchange",
        "launching": "Launched write_program",
        "scaling": "by_latency fit_latency growth last_ratio_again trained",
        "scaling_trials": "ddp_spans gpu_efficiency published_efficiency step_seconds",
        "step_widget": "efficiency_by_link step_timeline",
        "thread_replicas": "data_parallel",
        "trials": "split_by_d2l",
        "ways_to_split": "draw_splits tensors_to_send",
    },
)
