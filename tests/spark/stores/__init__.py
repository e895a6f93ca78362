"""Stores by Spark's own readers: the rows that Python reads, as the same identity, with checked jars."""
