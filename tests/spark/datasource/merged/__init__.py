"""Rows of partial-update and aggregation tables that are merged in Arrow."""
