"""The difference of two versions of a table reads only the files in which they differ.

Begin with `restricted`.
"""
