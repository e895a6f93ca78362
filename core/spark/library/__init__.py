"""Paimon's own Java library, where Paimark stands on it."""
