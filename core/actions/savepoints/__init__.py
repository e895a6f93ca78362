"""Savepoints: made by hand or at intervals, deleted, and protected again.

Begin with `create_savepoint`.
"""
