"""What `python -m course_utils` runs."""
