"""Chapter 12, "Data parallelism"."""

from course_utils.core.doors import door

ROOMS = {
    "CountedLink": "links",
    "SlowLink": "links",
    "apart": "links",
    "backward": "replicas",
    "losses_by_exchange": "gradient_compression",
    "replica": "replicas",
    "statistics_from_sums": "replicas",
    "wrong_gradients": "replicas",
    "by_latency": "scaling",
    "fit_latency": "scaling",
    "last_ratio_again": "scaling",
    "trained": "scaling",
    "ddp_spans": "scaling_trials",
    "gpu_efficiency": "scaling_trials",
    "published_efficiency": "scaling_trials",
    "step_seconds": "scaling_trials",
    "descend_quadratic": "staleness",
    "rate_limit": "staleness",
    "stale_descent": "staleness",
    "step_timeline": "step_widget",
    "data_parallel": "thread_replicas",
    "save_script": "train_script",
    "split_by_d2l": "trials",
    "draw_splits": "ways_to_split",
    "tensors_to_send": "ways_to_split",
}

__getattr__, __dir__ = door(__name__, ROOMS)
