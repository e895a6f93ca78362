"""The history of a table with all its branches, as rows of lanes, newest first.

Begin with `lanes` (the data to show); `order` and `drawing` only compute, `scene` and `weaving` read.
"""
