"""User-defined commands: `[[command]]` of the config file binds a program to a key.

Begin with `own_commands`.
"""
