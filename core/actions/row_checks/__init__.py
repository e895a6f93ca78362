"""Checks of rows: named SELECTs that must return no row, of a version or of what a change will publish."""
