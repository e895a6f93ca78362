"""The difference between two versions of a table, as SQL.

Begin with `diff`.
"""
