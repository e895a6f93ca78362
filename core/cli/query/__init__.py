"""`paimark sql`, `diff` and `peek`: a statement's rows to stdout or a file.

Begin with `answering`.
"""
