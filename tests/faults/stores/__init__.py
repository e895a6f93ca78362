"""Stores that fail in the middle of a change: the error message, and the result of `recover`.

Begin with `failing`, which repeats one change and breaks another request each time. The server that fails on
request is `tests.storage.pretending`.
"""
