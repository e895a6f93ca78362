"""Why a table is so big: who holds how many bytes, alone and shared, and which buckets have small files.

Begin at `space.space`, which returns a `SpaceReport`; `holders` defines its rows. Files are counted by
`paimark.core.table.manifests.held_files`, as for deletions.
"""
