"""Paimark's core: Apache Paimon metadata, savepoints, branches and time travel, with no terminal."""
