"""Read a table's metadata from disk, fast and without pypaimon, pandas or pyarrow. It changes nothing.

Begin with `layout` (all paths; no other module builds one) and `records` (the JSON files); then `lineage`.
"""
