"""Chapter 12, "Data parallelism"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "links": "ClockLink CountedLink apart farthest",
        "published_step": "ddp_spans resnet50_sizes",
        "replicas": "backward flat_gradients inputs replica small_net",
        "step_widget": "LINKS step_timeline",
    },
)
