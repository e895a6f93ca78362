"""The conflicts of a merge: a person chooses a side for a cell, a row, a column or all.

`screen` shows them, `choosing` has the choices.
"""
