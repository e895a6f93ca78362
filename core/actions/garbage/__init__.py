"""Which files nothing needs any more, and how they are deleted.

Begin with `unreferenced`; `sweep` deletes what it found.
"""
