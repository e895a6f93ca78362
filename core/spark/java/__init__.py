"""Paimark's Java: compiled ahead into one jar, which Spark's process loads.

The sources are in `paimark/`. `paimark.core.spark.launch.building` compiles them.
"""
