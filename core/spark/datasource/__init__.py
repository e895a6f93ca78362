"""The data source `paimark` in batches: a table read through pypaimon at one snapshot.

Begin with `reader`; `core.spark.source` is what Spark is given.
"""
