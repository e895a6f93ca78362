"""Read splits by pypaimon-rust if it is installed, and if tests show that it agrees with stock Paimon.

The first line of each module describes it; docs/architecture.md shows how they work together.
"""
