"""Screens that are opened over the panes, and closed again.

Begin with `dialog`.
"""
