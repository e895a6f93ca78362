"""Answer aggregates from a table's metadata: row counts, minima and maxima, partitions.

Begin with `summary`. `SummaryColumns.java` finds such aggregates in a plan, `Summaries.java` makes their
rows.
"""
