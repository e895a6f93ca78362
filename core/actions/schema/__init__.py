"""The columns and options of a branch, altered by an action or a statement.

Begin with `alter_branch_schema`.
"""
