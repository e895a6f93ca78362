"""The history of a table with all its branches, as rows of lanes, newest first.

Begin with `lanes` (what there is to show); `order` and `drawing` only compute, `scene` and `weaving` read.
"""
