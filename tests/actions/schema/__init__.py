"""Definitions that change."""
