"""`C`: a table's records or rows, files and bytes over time, and histograms of a result's columns.

Begin with `open_chart`; `plotting` draws a chart with the plotting library, and `chart_screen` shows it.
"""
