"""Evaluate a constant time expression to one point in time.

Begin with `times`.
"""
