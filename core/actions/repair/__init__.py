"""Put right single rows of a table, as one commit: what one commit did, or the rows of a condition.

Begin with `revert` and `restore_rows`.
"""
