"""Spark writes main's rows anew as one commit, or main is cut off at an earlier snapshot.

Begin with `rewrite_main`.
"""
