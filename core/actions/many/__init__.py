"""One action on many things: a plan of plans, applied part by part.

Each part is a change of its own, with its own lock, journal and entry in the log; no file is shared by two.
Begin with `planning`.
"""
