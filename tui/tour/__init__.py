"""The tour of the demo: a few steps at the bottom of the screen that follow what the person really does.

Begin with `tour`; the texts are in `steps`.
"""
