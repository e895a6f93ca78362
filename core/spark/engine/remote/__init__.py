"""Statements over Spark Connect, where Spark and its plans are a server's.

Begin with `connect`.
"""
