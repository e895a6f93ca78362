"""Savepoints: made by hand or by the clock, deleted, and protected again.

Begin with `create_savepoint`.
"""
