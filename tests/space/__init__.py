"""Tests of `paimark.core.space`: who holds a table's bytes."""
