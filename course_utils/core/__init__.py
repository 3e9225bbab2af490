"""Measuring, evidence and claims; the machine and its GPUs; files."""
