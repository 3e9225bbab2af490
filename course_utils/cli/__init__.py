"""The commands of `python -m course_utils`."""
