"""The actions of `paimark.core.actions`, each on real tables; beside them what holds for all of them.

Begin with `acting`, which makes the context, and the stores that refuse.
"""
