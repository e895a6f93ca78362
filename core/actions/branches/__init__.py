"""Branches: created from a tag, deleted, retired, renamed, and made from stray commits.

Begin with `create_branch`.
"""
