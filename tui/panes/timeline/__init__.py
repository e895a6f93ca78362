"""Tab 7: the history of a table with all its branches, drawn as lanes, newest first.

Begin with `timeline_pane`; `timeline_rows` has its rows, with the words beside their commits.
"""
