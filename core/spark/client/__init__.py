"""The engine's process as the console and the command use it.

Begin with `client`.
"""
