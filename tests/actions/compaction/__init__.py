"""Tests of what leaves a table's rows as they are."""
