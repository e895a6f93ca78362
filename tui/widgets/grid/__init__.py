"""A grid of any number of rows that paints only the visible ones.

Begin with `record_grid`; `view` filters and sorts, `paint` makes strips.
"""
