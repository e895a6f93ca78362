"""Statements understood without Spark: CALL, ALTER TABLE, INSERT, SHOW, USE."""
