"""`paimark doctor` and `paimark verify`: what is missing or broken, here and in a table.

Begin with `doctor`.
"""
