"""Lines and fields that know nothing of tables: each takes text and repaints only what changed.

Begin with `lines`. The rows of everything are in `grid`.
"""
