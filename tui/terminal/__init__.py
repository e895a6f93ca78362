"""The terminal: keys in the order typed, bytes sent, the clipboard, the external editor.

Begin with `sent_cells`.
"""
