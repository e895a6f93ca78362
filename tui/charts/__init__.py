"""`C`: a table's records or rows, files and bytes over time, and histograms of a result's columns.

Begin with `over_time` and `histogram`, which make charts; `plotting` draws one with the plotting library, and
`chart_screen` shows it.
"""
