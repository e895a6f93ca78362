"""Tests of the one screen: where it begins, and what it remembers."""
