"""Statements understood without Spark: CALL, ALTER TABLE, INSERT, SHOW, USE.

Begin with `kinds` (what kind of statement it is) and `uses` (what it says of tables).
"""
