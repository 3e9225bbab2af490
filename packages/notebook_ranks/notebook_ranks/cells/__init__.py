"""Cells on a rank: running one, knowing where it is, sending its output."""
