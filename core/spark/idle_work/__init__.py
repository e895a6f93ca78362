"""Work that an idle engine does in advance. It is bounded, and any statement interrupts it.

Begin with `scheduler`.
"""
