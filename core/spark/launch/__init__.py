"""Start Spark: find Spark and Java, and choose the settings, on this machine or on a cluster.

Begin with `session`.
"""
