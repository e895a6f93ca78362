"""The entries of the palette: panes, actions, tables, queries, and the console's own commands.

Begin with `entries`.
"""
