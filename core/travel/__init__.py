"""Find the tables and `AS OF` clauses of a statement, and resolve each to a snapshot.

Begin with `parse.sql` (what a statement reads) and `version` (what a version or a time means).
"""
