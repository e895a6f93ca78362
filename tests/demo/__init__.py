"""The demo warehouse."""
