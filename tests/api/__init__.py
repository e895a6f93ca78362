"""The public API at work: what it reads, what it changes, and what it refuses."""
