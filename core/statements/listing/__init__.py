"""Plain selections of system tables, answered from metadata while Spark is not ready.

`selection` reads them from a statement's words, `listed` answers them.
"""
