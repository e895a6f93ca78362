"""Repairs, as far as they need no Spark."""
