"""Merge rows of partial-update and aggregation tables in Arrow, where that gives what stock Paimon gives.

Begin with `judgement`, which decides what is merged so; `reading` reads a split in this way.
"""
