"""Jars that Spark's wheel lacks: which they are, where they are kept, how they are fetched.

Begin with `lists`: it reads a file of `checksums/` for each set. `kept` has those that are
on this machine, `fetching` brings them.
"""
