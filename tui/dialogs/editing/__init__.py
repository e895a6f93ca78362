"""`E` on a row: cells that are changed, rows added and deleted, staged in the grid and committed as one.

`staging` has the edits, `edit_screen` shows them.
"""
