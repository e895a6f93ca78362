"""Queries as Spark plans them."""
