"""A warehouse on HDFS, by its own protocol.

Begin with `hdfs`.
"""
