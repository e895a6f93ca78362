"""Work in the background of the screen: threads, the engine, a running change.

Begin with `background`.
"""
