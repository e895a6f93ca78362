"""Stores that fail in the middle of a change: what a person is told, and what `recover` makes of it.

Begin with `failing`, which does one change again and again and spoils another request each time; the server
that fails on request is `tests.storage.pretending`.
"""
