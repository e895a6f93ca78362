"""Jars that Spark's wheel lacks: their lists, their directory, and how to fetch them.

Begin with `lists`: it reads a file of `checksums/` for each set. `kept` finds those on this machine,
`fetching` fetches them.
"""
