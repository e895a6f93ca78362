"""Tags: created with the proof that they came in time, renamed and deleted.

Begin with `create_tag`.
"""
