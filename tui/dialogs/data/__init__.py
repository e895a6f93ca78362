"""Dialogs for a grid's data: its columns, and the fields of one row or cell.

Begin with `columns`.
"""
