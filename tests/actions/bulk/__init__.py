"""Tests of changes of many."""
