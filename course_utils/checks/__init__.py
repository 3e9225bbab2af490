"""The checkers of the exercises, one file a chapter."""
