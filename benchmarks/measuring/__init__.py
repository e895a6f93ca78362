"""Shared by several measurements: costs and ratios, processes, Java's settings, generated files."""
