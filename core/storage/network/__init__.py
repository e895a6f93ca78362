"""The servers of stores and clusters: whether one accepts connections, found out within seconds.

Begin with `listening`.
"""
