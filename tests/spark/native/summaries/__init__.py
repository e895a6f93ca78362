"""Aggregates that metadata answer, beside the rows."""
