"""Rows written by Spark: one commit or none."""
