"""The console, driven by keys, with the text on the screen as the answer.

Begin with `driving`.
"""
