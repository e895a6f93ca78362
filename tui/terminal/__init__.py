"""The terminal: the order of keys, the bytes to send, the clipboard, the external editor.

Begin with `sent_cells`.
"""
