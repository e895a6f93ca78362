"""Commits that another engine overwrites."""
