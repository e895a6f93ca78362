"""Read and write tables by Paimon's Java library, inside Spark: Python's side of `java/paimark/library`."""
