"""Branches: created from a tag, deleted, retired, renamed, and rescued from stray commits.

Begin with `create_branch`.
"""
