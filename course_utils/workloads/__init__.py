"""Workloads: models, data, precision recipes, and matrix multiplications."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "addition": "ALPHABET Addition LINE answer_loss encode exact_match line training_step",
        "gpt": "GPT GPTConfig",
        "gpt_bytes": "activation_bytes parameters step_bytes",
        "matmul": "formats_of product published_rates",
        "training_steps": "TrainingStep",
    },
)
