"""Whether a recorded file can be trusted, whoever brings it."""
