"""Alter the columns and options of a branch, by an action or a statement.

Begin with `alter_branch_schema`.
"""
