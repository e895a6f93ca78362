"""The command: what it prints, on which stream, with which exit code.

Begin with `command`, which runs it in this process or as the real program.
"""
