"""Move a result's rows from Spark's tasks to the channel.

Begin with `results`.
"""
