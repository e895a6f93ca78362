"""The history of a table with all its branches, as rows of lanes, newest first.

Begin with `lanes`, which only computes; `lane_data` and `row_pages` read.
"""
