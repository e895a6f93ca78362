"""Lines and fields that know nothing about tables: each takes text, and repaints only changed lines.

Begin with `lines`. `grid` shows rows.
"""
