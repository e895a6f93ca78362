"""Paimark's core: Apache Paimon metadata, savepoints, branches and time travel, with no terminal.

Other programs use `paimark`, which is built on it.
"""
