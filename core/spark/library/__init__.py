"""Read tables by Paimon's own Java library, inside Spark: the Python side of `java/paimark/library`."""
