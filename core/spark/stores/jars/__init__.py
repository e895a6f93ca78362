"""Jars that Spark's wheel lacks: which they are, where they are kept, how they are fetched.

Begin with `lists`: a file in `lists/` for each set, with the checksum of every jar. `kept` has those that are
on this machine, `fetching` brings them.
"""
