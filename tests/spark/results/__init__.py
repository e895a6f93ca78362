"""Rows on their way out of Spark."""
