"""Tests of commands of one's own."""
