"""Write rows to a table as one commit.

Begin with `insert` for a statement, `write` for the data source.
"""
