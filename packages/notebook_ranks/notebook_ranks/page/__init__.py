"""What the notebook has of its ranks: the magic, what is printed, cells in the background."""
