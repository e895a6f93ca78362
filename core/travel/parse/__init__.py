"""The tokens of a statement, and the tables and time-travel clauses in it.

Begin with `sql`.
"""
