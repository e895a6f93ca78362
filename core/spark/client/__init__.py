"""Start and use the engine's process from the console and the command.

Begin with `client`.
"""
