"""The tour of the demo: a few steps at the bottom of the screen that watch what one really does.

Begin with `tour`; what is said is in `steps`.
"""
