"""A branch root's snapshots in order, and the relation of roots to each other.

Begin with `lineage`; `main_branch` finds the root that is main.
"""
