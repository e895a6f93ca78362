"""The rows of grids: their records, their marks and actions, and the location history.

Begin with `sources` (the data of a grid) and `record_key` (the identity of a record).
"""
