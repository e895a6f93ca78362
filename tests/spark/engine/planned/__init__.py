"""Statements in the engine."""
