"""Tab 8: the sizes of a table's parts, and the bytes that each deletion would free.

Begin with `space_pane`; `space_rows` has its rows, and the lines above them.
"""
