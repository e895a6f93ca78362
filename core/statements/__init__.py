"""Run a statement, and yield its events: CALL, ALTER TABLE and INSERT become actions, Spark runs all others.

Begin with `run`. `paimark.core.travel.statements` parses the texts.
"""
