"""Merge a branch into main or another branch: by fast-forward, by appending its rows, or key by key.

Begin with `merge_branch`.
"""
