"""Snapshots of a root in order, which root is main, forks and times."""
