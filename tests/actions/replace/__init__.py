"""A branch becomes main, and stops being it."""
