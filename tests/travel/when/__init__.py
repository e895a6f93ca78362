"""Since when a table has rows of a condition."""
