"""Statements and versions, held to Spark's own parser and to models."""
