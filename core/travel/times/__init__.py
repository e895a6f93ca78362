"""A constant expression becomes one moment.

Begin with `times`.
"""
