"""The names in a statement: the versions of its tables, and better words for names that Spark does not know.

Begin with `versions` and `hints`.
"""
