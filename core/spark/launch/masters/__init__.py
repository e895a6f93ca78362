"""The masters of clusters: whether they are there, before Spark tries for minutes.

Begin with `masters`.
"""
