"""A few keys, or rows with a few values, looked up where statements are planned: no Spark job is started.

Begin with `lookups`. `native.scans` comes here first with a statement that has such conditions.
"""
