"""The batch reads of the data source `paimark`: they read a table at one snapshot, through pypaimon.

Begin with `reader`; `paimark.core.spark.source` is the class that Spark gets.
"""
