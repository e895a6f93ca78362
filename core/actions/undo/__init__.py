"""Undo and redo: take back a change, or make it again.

Begin with `undo`.
"""
