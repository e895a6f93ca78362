"""`readStream` and `writeStream` of the data source `paimark`: each row exactly once, after any crash.

Begin with `reader` and `batch_commit`; `next_changes` finds what to read next, `commit_attempts` whether a
batch is committed.
"""
