"""Tab 8: why a table is so big, and what each deletion would free.

Begin with `space_pane`; `space_rows` are its rows, and `summary` the lines above them.
"""
