"""Which Spark and which Java are started, with which settings, here or on a cluster.

Begin with `session`.
"""
