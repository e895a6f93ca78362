"""What opens over the panes: plans, conflicts, and the keys that close them."""
