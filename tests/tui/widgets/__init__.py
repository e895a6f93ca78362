"""The grid, its order, and colours."""
