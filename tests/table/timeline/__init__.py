"""Tests of `core.table.timeline`."""
