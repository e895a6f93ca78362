"""Merge a branch into main: by fast-forward, by appending its rows, or key by key.

Begin with `merge_branch`.
"""
