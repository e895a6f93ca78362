"""The one screen that is always there: the tables on the left, the tabs of a table on the right.

Begin with `browse`, which hands its work to `open_tabs`, `selected_rows`, `row_dialogs`, `difference_lookup`
and `table_summary`.
"""
