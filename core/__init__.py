"""Paimark's core: Apache Paimon metadata, savepoints, branches and time travel, with no terminal.

Programs of others use `paimark`, which stands on this.
"""
