"""The conflicts of a merge: what is chosen for each, a cell, a row, a column or all at a time.

`screen` shows them, `choosing` knows what is chosen.
"""
