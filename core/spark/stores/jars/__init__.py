"""Jars that Spark's wheel lacks: their lists, their directory, and how to fetch them.

Begin with `cached`: it reads a file of `checksums/` for each set, and finds those on this machine; `fetching`
fetches them.
"""
