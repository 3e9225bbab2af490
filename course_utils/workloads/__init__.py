"""What is trained: models, data, precision recipes, products, and d2l as a guest."""

from course_utils.core.doors import door

ROOMS = {
    "ALPHABET": "addition",
    "Addition": "addition",
    "LINE": "addition",
    "answer_loss": "addition",
    "exact_match": "addition",
    "training_step": "addition",
    "GPT": "gpt",
    "GPTConfig": "gpt",
    "activation_bytes": "gpt_bytes",
    "parameters": "gpt_bytes",
    "step_bytes": "gpt_bytes",
    "explain_formats": "matmul",
    "formats_of": "matmul",
    "product": "matmul",
    "published_rates": "matmul",
    "TrainingStep": "training_steps",
}

__getattr__, __dir__ = door(__name__, ROOMS)
