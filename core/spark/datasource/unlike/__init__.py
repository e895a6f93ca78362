"""Where pypaimon reads other rows from the same files than stock Paimon: corrected, or refused by name.

The first line of each module describes it; docs/architecture.md shows how they work together.
"""
