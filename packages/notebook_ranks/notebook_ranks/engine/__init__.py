"""Ranks started, given orders and ended: the wire, the notebook's side, a rank's program."""
