"""A grid of any number of rows, which paints only those in sight.

Begin with `record_grid`; `row_order` filters and sorts, `paint` makes strips.
"""
