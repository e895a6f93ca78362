"""The Python Data Source `paimark`: a table read through pypaimon at one snapshot.

Begin with `source`.
"""
