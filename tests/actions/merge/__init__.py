"""Merges, also against a model."""
