"""Tables on Spark's own Parquet and ORC readers, with the files that a snapshot needs and no others.

Begin with `scans`; `state` is what is read of one snapshot, `bitmap` leaves out the rows that newer ones
replace.
"""
