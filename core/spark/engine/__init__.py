"""Inside the engine's process: a statement is read, its tables are resolved, Spark runs it.

Begin with `engine`, then `statement`.
"""
