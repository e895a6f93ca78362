"""The query pane's sheets: each has a text, its result, and the running statement.

Begin with `sheet`.
"""
