"""Read a table's metadata from disk, fast and without pypaimon, pandas or pyarrow. It changes nothing.

Begin with `layout` (every path, and nothing else knows one) and `records` (the JSON files); then `lineage`.
"""
