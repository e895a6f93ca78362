"""The query pane's sheets: each a text, its result, and how it runs.

Begin with `sheet`.
"""
