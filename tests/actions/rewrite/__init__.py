"""Rollbacks, truncations, and commits that another engine overwrites."""
