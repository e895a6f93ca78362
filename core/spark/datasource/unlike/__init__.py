"""Where pypaimon makes other rows of the same files than stock Paimon: mended here, or refused by name.

Each module says in its first line what it holds; docs/architecture.md shows how they work together.
"""
