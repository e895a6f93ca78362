"""Merge keys in Spark's tasks: divide files into tasks by ranges of keys, and collect the bits they find.

Begin with `merging`. `native.bitmap` calls it for groups that are too large for this process.
"""
