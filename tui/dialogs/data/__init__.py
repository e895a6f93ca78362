"""Dialogs over a grid's data: its columns, and one row or cell whole.

Begin with `columns`.
"""
