"""The tables on the left, the tabs on the right, and the log.

Begin with `pane` (what the screen asks of a tab) and `record_pane` (what the tabs with rows share).
"""
