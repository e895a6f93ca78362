"""The one screen that is always there: the tables on the left, the tabs of a table on the right.

Begin with `browse`.
"""
