"""A page that one file holds, opened without a network: its frame, its filling, its numbers."""
