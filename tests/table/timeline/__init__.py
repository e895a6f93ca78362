"""Tests of `paimark.core.table.timeline`."""
