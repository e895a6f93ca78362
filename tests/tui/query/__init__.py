"""The query pane: statements, completion, export."""
