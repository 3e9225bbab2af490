"""A snapshot as one page for a browser: what it says, what looks wrong, and every event of it."""
