"""What a table's schema says: its kind, its column types, its options.

Begin with `kinds`.
"""
