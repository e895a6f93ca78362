"""The row under the cursor: what it stands for, what can be done with it, where one has been.

Begin with `sources` (what a grid shows) and `record_key` (which record a row stands for).
"""
