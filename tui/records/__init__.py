"""The rows of grids: their records, their marks and actions.

Begin with `sources`, the data of a grid.
"""
