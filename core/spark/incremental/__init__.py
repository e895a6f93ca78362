"""What the state of a table takes over from the state before, so that a commit costs what it changed.

Begin with `live_files`, which carries the files of a table from one snapshot to the next, over manifests that
`decoded_manifests` keeps; then `delta`, which makes a group's bits from earlier ones with the keys that
`kept_keys` holds. What is not certain is made anew.
"""
