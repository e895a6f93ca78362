"""What the console knows of the terminal: keys as they come, bytes as they go, the clipboard, the editor.

Begin with `sent_cells`.
"""
