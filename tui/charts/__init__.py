"""`C`: a table's records or rows, files and bytes over time, and histograms of a result's columns.

Begin with `chart` (the data); `plotting` draws it with the plotting library, and `chart_screen` shows it.
`over_time` and `histogram` make charts.
"""
