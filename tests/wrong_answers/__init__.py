"""Plausible wrong answers to the exercises, one file a chapter; every checker must reject them."""
