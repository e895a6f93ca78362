"""Rollbacks and truncations."""
