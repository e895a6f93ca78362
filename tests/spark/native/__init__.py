"""Spark's own readers: rows equal to the Python source's, and no file read that need not be."""
