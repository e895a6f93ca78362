"""Savepoints: made by hand and by the clock, deleted, protected again."""
