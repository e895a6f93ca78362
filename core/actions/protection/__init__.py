"""Branches, tags and savepoints are protected: `core.actions.protection_guard` holds every plan to it.

Begin with `protect`.
"""
