"""A profiler's trace as one HTML page."""
