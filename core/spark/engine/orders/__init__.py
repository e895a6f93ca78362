"""Do the orders of actions: query versions of a table, and commit what comes of that.

Begin with `rewrite`; `repair` changes single rows.
"""
