"""Look up the rows of a few keys or values in the process that plans statements, without a Spark job.

Begin with `lookups`. `native.scans` tries a lookup first if a statement has such conditions.
"""
