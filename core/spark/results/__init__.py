"""A result's rows on their way from Spark's tasks to the channel.

Begin with `results`.
"""
