"""Screens that open over the panes.

Begin with `dialog`.
"""
