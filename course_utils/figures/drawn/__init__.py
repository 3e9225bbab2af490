"""What a figure draws, as text, and the stamp that holds a picture and its text together."""
