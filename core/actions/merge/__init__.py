"""A branch is merged into main: fast-forward, appended, or key by key.

Begin with `merge_branch`.
"""
