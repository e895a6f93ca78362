"""Branches, tags and savepoints are protected. `paimark.core.actions.protection_guard` holds plans to it.

Begin with `protect`.
"""
