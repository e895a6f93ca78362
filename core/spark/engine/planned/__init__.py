"""Queries as Spark plans them, over stand-ins of our tables; and plans kept for when a query comes again."""
