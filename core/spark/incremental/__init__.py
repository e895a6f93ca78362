"""Derive the state of a table from an earlier one, so that a commit costs only as much as it changed.

Begin with `live_files`, which carries the files of a table from one snapshot to the next; then `delta`, which
makes a group's bits from earlier ones with the keys that `kept_keys` holds. A result that can't be derived
safely is computed from scratch.
"""
