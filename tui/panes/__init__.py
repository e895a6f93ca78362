"""The tables on the left, the tabs on the right, and the log.

Begin with `pane` (the interface of a tab for the screen) and `record_pane` (the base of the tabs with rows).
"""
