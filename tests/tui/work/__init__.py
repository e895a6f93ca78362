"""Threads, and changes that run beside the screen."""
