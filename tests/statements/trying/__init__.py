"""Tests of `try`."""
