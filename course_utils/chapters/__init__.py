"""Code that only one chapter uses: a folder each, named like its notebook without the number."""
