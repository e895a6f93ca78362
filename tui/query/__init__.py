"""A statement in the query pane: completion, the result and its rows, the export to a file.

Begin with `query_result`.
"""
