"""Splits read by pypaimon-rust, where it is installed and shown to agree.

Each module says in its first line what it holds; docs/architecture.md shows how they work together.
"""
