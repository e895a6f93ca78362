"""The state that the console keeps between sessions: the last location, and the layout of grids.

Begin with `memory`.
"""
