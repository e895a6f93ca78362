"""Why a table is so big: who holds how many bytes, alone and shared, and which buckets have small files.

Begin at `space.space`, which gives a `SpaceReport`; `holders` says what the rows of it are, and `first` is
the quick figure. Files are counted by `core.table.manifests.fold`, as deletions and `verify` count them.
"""
