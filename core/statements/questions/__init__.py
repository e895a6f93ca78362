"""Questions that a table answers and that change nothing: since when, and what happened to a row."""
