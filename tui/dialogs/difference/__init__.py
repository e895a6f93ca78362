"""`D`: the difference of two versions: totals, counts for each column, and rows with their changes.

Begin with `difference_screen`.
"""
