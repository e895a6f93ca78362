"""Rebinding of keys: every binding has an id, and `[keys]` of the config file gives an id other keys.

Begin with `rebinding`.
"""
