"""Read a table's schema: its kind, its column types, its options.

Begin with `kinds`.
"""
