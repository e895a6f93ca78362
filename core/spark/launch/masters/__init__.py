"""Check that the master of a cluster is reachable, before Spark tries for minutes.

Begin with `masters`.
"""
