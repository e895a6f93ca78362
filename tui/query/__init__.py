"""A statement in the query pane: completed, run, its rows kept and written to a file.

Begin with `query_result`.
"""
