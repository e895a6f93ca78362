"""The history of a table with all its branches, as rows of lanes, newest first.

Begin with `lanes`, which only computes; `scene` and `weaving` read.
"""
