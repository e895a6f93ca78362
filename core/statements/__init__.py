"""One statement in, its events out: CALL, ALTER TABLE and INSERT become actions, all else goes to Spark.

Begin with `run`. What a statement's text says is read in `core.travel.statements`.
"""
