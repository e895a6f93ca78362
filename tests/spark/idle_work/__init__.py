"""Idle work of the engine: in order, within its bounds, and heard of by nobody."""
