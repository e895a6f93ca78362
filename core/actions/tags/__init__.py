"""Tags: made with the proof that they came in time, and deleted.

Begin with `create_tag`.
"""
