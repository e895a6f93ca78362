"""What the engine does before it is asked, while nobody asks it anything: bounded, and any statement ends it.

Begin with `scheduler`.
"""
