"""Streams: read, written, killed and started again."""
