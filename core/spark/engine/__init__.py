"""The engine's process: it parses a statement, resolves its tables, and lets Spark run it.

Begin with `engine`, then `statement`.
"""
