"""A branch root's snapshots in order, and how roots are related.

Begin with `lineage`; `main_branch` says which root is main.
"""
