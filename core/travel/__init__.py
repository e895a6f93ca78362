"""From words to a snapshot: the tables and `AS OF` clauses of a statement, and what they resolve to.

Begin with `parse.sql` (what a statement reads) and `version` (what a version or a time means).
"""
