"""Masters that are there, or not."""
