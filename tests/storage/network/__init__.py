"""Whether a server listens."""
