"""The files of a branch root, and the files beside them in the table directory.

Begin with `root_files`.
"""
