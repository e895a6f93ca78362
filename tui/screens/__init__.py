"""The main screen of the console: the tables on the left, the tabs of a table on the right.

Begin with `browse`, which delegates to `open_tabs`, `selected_rows`, `row_dialogs` and
`table_summary`.
"""
