"""Commands of one's own: `[[command]]` of the config file puts a program on a key.

Begin with `own_commands`.
"""
