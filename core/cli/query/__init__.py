"""`paimark sql`, `diff` and `peek`: write a statement's rows to stdout or to a file.

Begin with `answering`.
"""
