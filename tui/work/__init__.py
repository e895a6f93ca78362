"""Work beside the screen: threads, the engine, a change that is being made.

Begin with `background`.
"""
