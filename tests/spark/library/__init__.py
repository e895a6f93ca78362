"""Paimon's own Java library behind Spark."""
