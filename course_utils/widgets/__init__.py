"""The interactive pieces, one file each; each shows its default state where nobody moves it."""
