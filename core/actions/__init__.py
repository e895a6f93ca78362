"""Everything that changes a table: an action is planned by reading only, shown, and then applied.

Begin with `registry` (every action, with its arguments) and `plan`; then the package named after your
subject. `change` runs all actions that lock the table; `recover` ends interrupted ones.
"""
