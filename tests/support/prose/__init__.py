"""Whether each number that people read has a source beside it: code, stored output, cited data."""
