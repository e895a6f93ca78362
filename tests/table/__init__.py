"""Metadata on disk: read against what pypaimon writes, and against files laid out by hand.

Begin with `lineages`, which makes histories without pypaimon.
"""
