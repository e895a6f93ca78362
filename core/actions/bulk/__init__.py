"""One action on many things: a plan of plans, applied part by part.

Each part is a change with its own lock, journal and log entry; no two parts share a file.
Begin with `planning`.
"""
