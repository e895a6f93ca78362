"""Tests of drops, undrops and renames of whole tables."""
