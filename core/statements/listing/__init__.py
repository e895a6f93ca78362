"""Answer plain selections of system tables from metadata while Spark is not ready.

`selection` parses them, `answer` answers them.
"""
