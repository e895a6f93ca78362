"""Stores as Spark's own readers reach them, through Hadoop: settings, jars, and a look whether it works.

Begin with `settings`, the pure map from catalog options to Hadoop's, and `access`, which applies it.
"""
