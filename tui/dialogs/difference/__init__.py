"""`D`: what two versions of a table differ in: totals, counts a column, the rows with what changed in them.

Begin with `difference_screen`.
"""
