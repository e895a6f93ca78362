"""Parse the statements that need no Spark: CALL, ALTER TABLE, INSERT, SHOW, and those that make a view.

Begin with `alters` or `calls`; `paimark.core.travel.parse` comes before.
"""
