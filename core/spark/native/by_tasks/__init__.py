"""Keys merged in Spark's tasks: which ranges of which files a task has, and what it finds.

Begin with `merging`. `native.bitmap` comes here with what is too much for this process.
"""
