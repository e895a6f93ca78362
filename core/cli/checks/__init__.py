"""`paimark doctor` and `paimark verify`: find what is missing or broken on this machine and in a table.

Begin with `doctor`.
"""
