"""Spark's own readers: rows equal to those of Paimon's library, and no file read that need not be."""
