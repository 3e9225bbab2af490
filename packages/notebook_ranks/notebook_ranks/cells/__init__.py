"""What a rank does with a cell: runs it, knows where it is, and sends what it shows."""
