"""Find the tokens of a statement, and its tables and time-travel clauses.

Begin with `sql`.
"""
