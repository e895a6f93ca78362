"""Read tables by Spark's own Parquet, ORC and Avro readers, with exactly the files that a snapshot needs.

Begin with `scans`; `state` has the files of one snapshot, `bitmap` finds the rows that newer ones replace.
"""
