"""Tests of `core.space`: who holds a table's bytes."""
