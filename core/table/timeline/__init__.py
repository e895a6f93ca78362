"""The history of a table with all its branches, as rows of lanes, newest first.

Begin with `lanes` (the data to show); `drawing` only computes, `scene` and `weaving` read.
"""
