"""Whether a number that people read has a source beside it: in code, stored output or cited data."""
