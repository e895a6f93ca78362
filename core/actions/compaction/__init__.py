"""Commits that leave a table's rows as they are: its files are merged, or its statistics are told.

Begin with `compact`.
"""
