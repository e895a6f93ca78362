"""Run statements over Spark Connect: Spark and its plans are on a server.

Begin with `connect`.
"""
