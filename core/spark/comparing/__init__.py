"""Restrict the reads for a difference of two versions of a table to the files in which they differ.

Begin with `restricted`.
"""
