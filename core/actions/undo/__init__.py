"""A change is taken back, or made again.

Begin with `undo`.
"""
