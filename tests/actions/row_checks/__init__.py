"""Tests of checks of rows."""
