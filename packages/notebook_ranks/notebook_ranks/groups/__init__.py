"""The process groups of a rank: opened, counted, and what torch keeps of them."""
