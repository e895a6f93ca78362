"""The files of a branch root, and what lies in the table directory beside them.

Begin with `root_files`.
"""
