"""Read times that are literals, as people and statements write them.

Begin with `times`.
"""
