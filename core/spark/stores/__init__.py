"""Access to stores for Spark's own readers, through Hadoop: settings, jars, and a check that it works.

Begin with `settings`, the pure map from catalog options to Hadoop's, and `access`, which applies it. It is
applied again before a statement if there are other keys by then.
"""
