"""Aggregates that a table's metadata answer: numbers of rows, least and greatest values, partitions.

Begin with `summary`; `Asked.java` knows such aggregates in a plan, `Summaries.java` works out their rows.
"""
