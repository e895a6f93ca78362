"""Tests of keys bound anew."""
