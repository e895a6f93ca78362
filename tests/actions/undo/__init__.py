"""`undo` and `redo` of each kind of change."""
