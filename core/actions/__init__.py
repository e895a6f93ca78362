"""Everything that changes a table: an action is planned by reading only, shown, and then applied.

Begin with `registry` (every action, with its arguments) and `plan`; then the package named after what you
look for. `change` runs all actions that hold the table alone; `recover` ends what was interrupted.
"""
