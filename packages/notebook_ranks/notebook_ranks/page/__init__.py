"""The notebook's side of the ranks: the magic, what is printed, cells in the background."""
