"""What the palette offers: panes, actions, tables, queries, and the console's own switches.

Begin with `entries`.
"""
