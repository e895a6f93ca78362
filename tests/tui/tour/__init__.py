"""Tests of the tour of the demo."""
